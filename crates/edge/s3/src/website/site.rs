//! What a bucket's document says of it, and what follows for a request.

use super::redirect::{Redirect, Step};

/// What a bucket is to browsers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Site {
    /// Another place: whatever is asked for is there.
    Elsewhere(Redirect),
    /// Pages.
    Pages {
        /// What is shown of a path that ends with a slash: a key's last part.
        index: String,
        /// The key of what is shown where something is wrong.
        error: Option<String>,
        /// Where else to look, the first that fits.
        rules: Vec<Rule>,
    },
}

/// Where else to look, and when.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rule {
    /// Only for keys that begin with this.
    pub(crate) prefix: Option<String>,
    /// Only where a page would be answered with this status.
    pub(crate) error: Option<u16>,
    /// Where to.
    pub(crate) redirect: Redirect,
}

impl Site {
    /// What is done first for a key, which may be empty, asked for at this origin
    /// (`http://host`).
    pub(crate) fn first(&self, key: &str, origin: &str) -> Step<'_> {
        match self {
            Self::Elsewhere(redirect) => redirect.step(key, None, origin),
            Self::Pages { index, rules, .. } => {
                let fits = |rule: &&Rule| rule.error.is_none() && rule.begins(key);
                match rules.iter().find(fits) {
                    Some(rule) => rule.redirect.step(key, rule.prefix.as_deref(), origin),
                    None if key.is_empty() || key.ends_with('/') => {
                        Step::Show(format!("{key}{index}"))
                    }
                    None => Step::Show(key.to_owned()),
                }
            }
        }
    }

    /// What is done where what was to be shown is answered with an error.
    pub(crate) fn after(&self, status: u16, key: &str, origin: &str) -> Step<'_> {
        let Self::Pages { error, rules, .. } = self else { return Step::Tell(None) };
        let fits = |rule: &&Rule| rule.error == Some(status) && rule.begins(key);
        match rules.iter().find(fits) {
            Some(rule) => rule.redirect.step(key, rule.prefix.as_deref(), origin),
            None => Step::Tell(error.as_deref()),
        }
    }

    /// The key of the page that would be shown if a slash stood behind this one.
    pub(crate) fn below(&self, key: &str) -> Option<String> {
        match self {
            Self::Pages { index, .. } if !key.is_empty() && !key.ends_with('/') => {
                Some(format!("{key}/{index}"))
            }
            Self::Pages { .. } | Self::Elsewhere(_) => None,
        }
    }
}

impl Rule {
    fn begins(&self, key: &str) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| key.starts_with(&**prefix))
    }
}
