//! Where browsers are sent.

use crate::uri;

/// Where a browser is sent, as far as it differs from where it asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Redirect {
    pub(crate) host: Option<String>,
    pub(crate) protocol: Option<&'static str>,
    /// The status; 301 if none is named.
    pub(crate) code: Option<u16>,
    pub(crate) key: NewKey,
}

/// The key that is asked for there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum NewKey {
    /// The same.
    #[default]
    Same,
    /// This one.
    Whole(String),
    /// The same, with this in the place of the prefix that made the rule fit.
    Prefix(String),
}

/// What is done next for a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step<'a> {
    /// The browser is sent elsewhere: status and address.
    Redirect(u16, String),
    /// An object is shown.
    Show(String),
    /// This error is told, with the object of this key if it is there.
    Tell(Option<&'a str>),
}

/// The status of a redirection that names none: for good.
const FOR_GOOD: u16 = 301;

impl Redirect {
    /// For a key that fits by this prefix, asked for at this origin.
    pub(super) fn step(&self, key: &str, prefix: Option<&str>, origin: &str) -> Step<'static> {
        let (scheme, host) = origin.split_once("://").unwrap_or(("http", origin));
        let (scheme, host) =
            (self.protocol.unwrap_or(scheme), self.host.as_deref().unwrap_or(host));
        let key = match &self.key {
            NewKey::Same => key.to_owned(),
            NewKey::Whole(new) => new.clone(),
            NewKey::Prefix(new) => {
                let rest = key.strip_prefix(prefix.unwrap_or_default()).unwrap_or(key);
                format!("{new}{rest}")
            }
        };
        let key = uri::encode(&key, b"/");
        let to = format!("{scheme}://{host}/{key}");
        Step::Redirect(self.code.unwrap_or(FOR_GOOD), to)
    }
}
