//! Who is told what happens in buckets.

use crate::{config::Config, owner_only};
use anyhow::{Context as _, Result};
use ripstop_s3::{Webhook, Webhooks};

/// Begins to tell the configured webhooks of what they are to know.
pub(crate) fn begin(config: &Config) -> Result<Webhooks> {
    let webhook = |one: &crate::config::WebhookConfig| {
        let token = one.token.as_deref().map(owner_only::token).transpose()?;
        Ok(Webhook { name: one.name.clone(), url: one.url.clone(), token })
    };
    let webhooks = config.webhooks.iter().map(webhook).collect::<Result<_>>()?;
    Webhooks::begin(webhooks).context("webhooks cannot be told")
}
