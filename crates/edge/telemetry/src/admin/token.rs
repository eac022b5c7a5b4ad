use std::fmt;
use subtle::ConstantTimeEq as _;

/// A secret that callers must show as `Authorization: Bearer …`.
#[derive(Clone)]
pub struct AdminToken(String);

impl AdminToken {
    /// This one.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// Whether a header shows it. How long that takes says nothing of it but its length.
    pub(super) fn is_shown(&self, header: &[u8]) -> bool {
        const SCHEME: &[u8] = b"bearer ";
        header.split_at_checked(SCHEME.len()).is_some_and(|(scheme, shown)| {
            scheme.eq_ignore_ascii_case(SCHEME) && shown.ct_eq(self.0.as_bytes()).into()
        })
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token_and_it_is_never_printed() {
        let token = AdminToken::new("0123456789abcdef");
        assert!(token.is_shown(b"Bearer 0123456789abcdef"));
        assert!(token.is_shown(b"bearer 0123456789abcdef"));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer 0123456789ABCDEF",
        ] {
            assert!(!token.is_shown(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "AdminToken");
    }
}
