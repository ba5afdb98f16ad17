"""The paper: its three algorithms, one file each, and the networks that they are compared with."""
