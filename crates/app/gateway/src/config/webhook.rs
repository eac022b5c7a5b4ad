//! Places that are told what happens in buckets.

use super::raw;
use anyhow::{Context as _, Result, ensure};
use std::{collections::BTreeSet, path::PathBuf};

/// Most webhooks.
const WEBHOOKS_MAX: usize = 100;

/// A webhook, as configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookConfig {
    /// Its name, in the last part of the ARNs that mean it.
    pub name: String,
    /// Its address.
    pub url: http::Uri,
    /// The file of the token that it is asked with, which only its owner may read.
    pub token: Option<PathBuf>,
}

pub(super) fn resolve(webhooks: Vec<raw::Webhook>) -> Result<Vec<WebhookConfig>> {
    ensure!(webhooks.len() <= WEBHOOKS_MAX, "there may be {WEBHOOKS_MAX} webhooks");
    let mut names = BTreeSet::new();
    for webhook in &webhooks {
        let name = &webhook.name;
        let in_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        ensure!(
            !name.is_empty() && name.bytes().all(in_names),
            "webhook {name:?}: a name has letters, digits, hyphens and underscores"
        );
        ensure!(names.insert(name.clone()), "webhook {name:?} is there twice");
    }
    webhooks.into_iter().map(webhook).collect()
}

fn webhook(raw: raw::Webhook) -> Result<WebhookConfig> {
    let raw::Webhook { name, url: text, token } = raw;
    let at = || format!("webhook {name:?}: url");
    let url: http::Uri = text.parse().with_context(at)?;
    let is_whole = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
    ensure!(is_whole, "webhook {name:?}: {text:?} is not an address such as https://host/path");
    Ok(WebhookConfig { name, url, token })
}
