"""Link prediction: which links a graph lacks, how sure that is, and why."""
