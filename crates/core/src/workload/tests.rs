//! What holds for every workload.
