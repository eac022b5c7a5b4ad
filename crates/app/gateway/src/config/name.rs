pub(super) const NAME_RULE: &str = "a name is 1 to 64 letters, digits, '-' or '_'";

pub(super) fn named(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}
