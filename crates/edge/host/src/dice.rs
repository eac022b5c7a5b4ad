use crate::rehearsal::current;

/// Fills `bytes` with random ones, fit for keys.
///
/// # Panics
///
/// If the operating system has none to give: nothing that needs them could go on.
pub fn fill(bytes: &mut [u8]) {
    match current() {
        Some(host) => host.fill(bytes),
        None => getrandom::fill(bytes).expect("the operating system gives random bytes"),
    }
}

/// 64 random bits.
///
/// # Panics
///
/// As [`fill`].
pub fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
