//! Queues, lanes and tasks.
