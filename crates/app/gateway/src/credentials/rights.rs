//! What the credentials file says of rights: of each access key, and of requests without a
//! signature.

use anyhow::{Context as _, Result, bail, ensure};
use ripstop_identity::{BucketRights, Credentials, Right, Rights};
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// What stands for every right there is.
const ADMINISTRATOR: &str = "administrator";
/// What stands for an account of its own.
const USER: &str = "user";
/// The account that all other keys share.
const STORE_ACCOUNT: &str = "ripstop";
/// Longest name of a user, bytes.
const NAME_LEN_MAX: usize = 64;

/// The tables as they are written.
pub(super) struct Written {
    /// By access key.
    pub(super) rights: Option<BTreeMap<String, Spanned<Value>>>,
    /// By bucket.
    pub(super) unsigned: Option<BTreeMap<String, Spanned<Value>>>,
}

/// Gives everybody what is written in `text`. Without a table of rights every key may do
/// everything; with one it must name every key, so that none is forgotten.
pub(super) fn grant(written: Written, text: &str, credentials: &mut Credentials) -> Result<()> {
    let line = |value: &Spanned<Value>| line_of(value, text);
    if let Some(of_keys) = written.rights {
        for (access_key, value) in &of_keys {
            let at = || format!("line {}: rights of {access_key:?}", line(value));
            let rights = of_key(value.get_ref()).with_context(at)?;
            let known = credentials.grant(access_key, rights);
            ensure!(known, "{}: there is no such access key", at());
        }
        let principals = credentials.principals();
        let mut names = principals.iter().filter_map(|principal| principal.access_key());
        if let Some(forgotten) = names.find(|name| !of_keys.contains_key(*name)) {
            bail!(
                "rights of {forgotten:?} are missing: a table [rights] must name every access key, \
                 with \"{ADMINISTRATOR}\", with \"{USER}\", with buckets, or with {{}} for no rights"
            );
        }
    }
    let mut rules = Vec::new();
    for (buckets, value) in written.unsigned.into_iter().flatten() {
        let at = || format!("line {}: rights of requests without a signature", line(&value));
        rules.push(rule(&buckets, value.get_ref()).with_context(at)?);
    }
    let of_requests = || "rights of requests without a signature";
    let rights = Rights::of(rules).with_context(of_requests)?;
    credentials.grant_unsigned(rights).with_context(of_requests)
}

fn line_of<T>(value: &Spanned<T>, text: &str) -> usize {
    text.bytes().take(value.span().start).filter(|&byte| byte == b'\n').count() + 1
}

/// Calls the users so whom keys belong to. A name means one account: nobody else's key or user may
/// be called like it.
pub(super) fn call(
    users: &BTreeMap<String, Spanned<String>>,
    text: &str,
    credentials: &mut Credentials,
) -> Result<()> {
    for (access_key, name) in users {
        let at = || format!("line {}: the user of {access_key:?}", line_of(name, text));
        let name = name.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let fits = (1..=NAME_LEN_MAX).contains(&name.len()) && name.chars().all(plain);
        ensure!(
            fits,
            "{}: a name must be 1 to {NAME_LEN_MAX} letters, digits, '-', '_' or '.'",
            at()
        );
        let is_free = name == access_key || !credentials.knows(name);
        ensure!(is_free, "{}: {name:?} is the access key of somebody else", at());
        ensure!(credentials.call(access_key, name), "{}: there is no such access key", at());
    }
    let mut accounts = BTreeMap::new();
    for principal in credentials.principals() {
        let Some((_, name)) = principal.user() else { continue };
        let is_user = principal.rights().is_user();
        ensure!(!is_user || **name != *STORE_ACCOUNT, "{STORE_ACCOUNT:?} is no user's name");
        let before = accounts.insert(name.clone(), is_user);
        ensure!(
            before.is_none_or(|before| before == is_user),
            "the user {name:?} has a key with an account of its own and one without"
        );
    }
    Ok(())
}

fn of_key(value: &Value) -> Result<Rights> {
    if value.as_str() == Some(ADMINISTRATOR) {
        return Ok(Rights::administrator());
    }
    if value.as_str() == Some(USER) {
        return Ok(Rights::user());
    }
    let Some(buckets) = value.as_table() else {
        // Not quoted: a secret may have been put in the wrong table.
        bail!("they must be \"{ADMINISTRATOR}\", \"{USER}\" or a table of buckets");
    };
    let rules = buckets.iter().map(|(buckets, value)| rule(buckets, value));
    Ok(Rights::of(rules.collect::<Result<_>>()?)?)
}

fn rule(buckets: &str, value: &Value) -> Result<BucketRights> {
    let words = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let right = |word: &Value| word.as_str().and_then(|word| word.parse::<Right>().ok());
    let rights: Option<Vec<_>> = words.iter().map(right).collect();
    let wanted = || {
        format!("bucket {buckets:?}: it must be \"read\", \"write\", \"owner\", or a list of these")
    };
    Ok(BucketRights::new(buckets.parse()?, rights.with_context(wanted)?))
}
