"""One graph of more points than fit into memory, partition by partition or on a Dask cluster."""
