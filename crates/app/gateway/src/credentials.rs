mod rights;
#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result, anyhow, bail};
use rights::Written;
use ripstop_identity::Credentials;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};
use toml::{Spanned, Value};
use zeroize::Zeroizing;

/// Most bytes of the file.
const FILE_LEN_MAX: u64 = 16 << 20;

/// Where the credentials came from.
pub enum CredentialsOrigin {
    /// They were given, or made at an earlier start.
    Known,
    /// They were made just now: to be shown once.
    New {
        /// The access key.
        access_key: String,
        /// Its secret.
        secret_key: Zeroizing<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    access_key: String,
    secret_key: Zeroizing<String>,
    /// Further pairs: access key = secret.
    #[serde(default)]
    more: BTreeMap<String, Zeroizing<String>>,
    /// What access keys may do.
    rights: Option<BTreeMap<String, Spanned<Value>>>,
    /// What may be done without a signature.
    unsigned: Option<BTreeMap<String, Spanned<Value>>>,
    /// What users are called whom access keys belong to.
    #[serde(default)]
    users: BTreeMap<String, Spanned<String>>,
}

/// The environment's pair or the file's, once more.
pub(crate) fn reload(file: &Path) -> Result<Credentials> {
    if std::env::var_os("RIPSTOP_ACCESS_KEY").is_none() && !file.exists() {
        bail!("credentials {} no longer exist", file.display());
    }
    Ok(load(file)?.0)
}

/// The environment's pair, the file's, or a new one that is written to the file for its owner
/// alone.
pub(crate) fn load(file: &Path) -> Result<(Credentials, CredentialsOrigin)> {
    let variables = ["RIPSTOP_ACCESS_KEY", "RIPSTOP_SECRET_KEY"].map(std::env::var);
    match variables {
        [Ok(access_key), Ok(secret_key)] => {
            let pair = (access_key, Zeroizing::new(secret_key));
            Ok((let_in([pair])?, CredentialsOrigin::Known))
        }
        [Err(_), Err(_)] => match File::open(file) {
            Ok(opened) => Ok((read(file, opened)?, CredentialsOrigin::Known)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (access_key, secret_key) = generate(file)?;
                let credentials = let_in([(access_key.clone(), secret_key.clone())])?;
                Ok((credentials, CredentialsOrigin::New { access_key, secret_key }))
            }
            Err(error) => Err(error).with_context(|| at(file)),
        },
        _ => bail!("RIPSTOP_ACCESS_KEY and RIPSTOP_SECRET_KEY must be set together"),
    }
}

fn at(file: &Path) -> String {
    format!("credentials {}", file.display())
}

fn let_in(pairs: impl IntoIterator<Item = (String, Zeroizing<String>)>) -> Result<Credentials> {
    let mut credentials = Credentials::new();
    for (access_key, secret_key) in pairs {
        check(&access_key, &secret_key)?;
        credentials.insert(access_key, secret_key);
    }
    Ok(credentials)
}

fn read(file: &Path, opened: File) -> Result<Credentials> {
    let metadata = opened.metadata()?;
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        bail!(
            "{} can be read by users other than their owner (mode {:o}): chmod 600",
            at(file),
            mode & 0o777
        );
    }
    if metadata.len() > FILE_LEN_MAX {
        bail!("{}: {} bytes, at most {FILE_LEN_MAX} are read", at(file), metadata.len());
    }
    // Room for all of it from the start: a text that moves as it grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(metadata.len() as usize + 1));
    opened.take(FILE_LEN_MAX).read_to_string(&mut text).with_context(|| at(file))?;
    let contents: Contents =
        toml::from_str(&text).map_err(|error| unreadable(file, &text, &error))?;
    let Contents { access_key, secret_key, more, rights, unsigned, users } = contents;
    let mut credentials = let_in(more.into_iter().chain([(access_key, secret_key)]))?;
    rights::grant(Written { rights, unsigned }, &text, &mut credentials)
        .with_context(|| at(file))?;
    rights::call(&users, &text, &mut credentials).with_context(|| at(file))?;
    Ok(credentials)
}

/// Says where the file is not as it should be. The parser's own message would quote the line,
/// secret and all.
fn unreadable(file: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
    let line = before.matches('\n').count() + 1;
    anyhow!(
        "{}, line {line}: two lines are wanted, access_key = \"…\" and secret_key = \"…\"; the tables [more], \
         [rights], [unsigned] and [users] may follow",
        at(file)
    )
}

/// Refuses what can be no key.
pub(crate) fn check(access_key: &str, secret_key: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(3..=128).contains(&access_key.len()) || !access_key.chars().all(plain) {
        bail!("an access key must be 3 to 128 letters, digits, '-', '_' or '.'");
    }
    if !(8..=128).contains(&secret_key.len()) {
        bail!("a secret key must be 8 to 128 characters long");
    }
    Ok(())
}

/// A new access key and its secret.
pub(crate) fn draw() -> (String, Zeroizing<String>) {
    let mut random = Zeroizing::new([0; 28]);
    ripstop_host::fill(&mut *random);
    let access_key = format!("RS{}", hex::encode_upper(&random[..9]));
    (access_key, Zeroizing::new(hex::encode(&random[9..])))
}

fn generate(file: &Path) -> Result<(String, Zeroizing<String>)> {
    let (access_key, secret_key) = draw();
    let at = || format!("credentials {}", file.display());
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).with_context(at)?;
    let pair = format!("access_key = \"{access_key}\"\nsecret_key = \"{}\"\n", *secret_key);
    out.write_all(Zeroizing::new(pair).as_bytes()).with_context(at)?;
    out.sync_all().with_context(at)?;
    Ok((access_key, secret_key))
}
