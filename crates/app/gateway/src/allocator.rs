/// Has what is large and comes and goes on many threads given back to the system as it is freed.
/// Strips are not among it: they have blocks of their own. Buffers of connections stay below it, or
/// each would be mapped and unmapped with its request.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the setting has no safe wrapper")]
pub fn give_memory_back() {
    /// Bytes from which on a block is the system's own mapping.
    const MAPPED_FROM: libc::c_int = 1 << 20;
    // SAFETY: sets a number of the allocator's, before there is a second thread.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) };
}

/// The allocator of this system is left as it is.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_memory_back() {}
