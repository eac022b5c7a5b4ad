use ripstop_model::FragmentId;

/// The subfolder that a fragment lies in is named after this.
pub(super) const fn last_byte(name: FragmentId) -> u8 {
    name.stripe.0 as u8
}

/// The name of the subfolder of a byte.
pub(super) fn folder_of(byte: u8) -> String {
    format!("{byte:02x}")
}

/// The byte that a subfolder of fragments is named after.
pub(super) fn byte_of(folder: &str) -> Option<u8> {
    let byte = u8::from_str_radix(folder, 16).ok()?;
    (folder_of(byte) == folder).then_some(byte)
}
