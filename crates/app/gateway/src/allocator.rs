use mimalloc::MiMalloc;

/// Small blocks are what a request takes and gives back by the hundred, on threads that differ.
/// Payload is not among them: it has blocks of its own (`ripstop-block`).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
