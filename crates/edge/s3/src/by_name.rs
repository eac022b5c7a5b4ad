//! Headers by name, for the many that hardly any request has.

use http::{HeaderMap, HeaderValue};

/// Looks headers up without hashing what is looked for.
pub(crate) trait ByName {
    /// The first of this name, which is in lower case.
    ///
    /// The map would check and hash every byte of the name before it says that there is none; of
    /// the ten or so headers of a request nearly all differ from it in their length already.
    fn named(&self, name: &str) -> Option<&HeaderValue> {
        self.all_named(name).next()
    }

    /// All of this name, in the order in which they came.
    fn all_named(&self, name: &str) -> impl Iterator<Item = &HeaderValue>;
}

impl ByName for HeaderMap {
    fn all_named(&self, name: &str) -> impl Iterator<Item = &HeaderValue> {
        debug_assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name}");
        self.iter().filter(move |(is, _)| is.as_str() == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_is_found_and_no_other() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("range", "1"), ("x-amz-acl", "2"), ("x-amz-acl", "3")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        for name in ["range", "x-amz-acl", "x-amz-ac", "x-amz-acls", "", "host"] {
            assert_eq!(headers.named(name), headers.get(name), "{name}");
            let all: Vec<_> = headers.get_all(name).iter().collect();
            assert_eq!(headers.all_named(name).collect::<Vec<_>>(), all, "{name}");
        }
    }
}
