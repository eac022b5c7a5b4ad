use anyhow::{Context as _, Result, anyhow, bail};
use ripstop_s3::Credentials;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};
use zeroize::Zeroizing;

/// Most bytes of the file.
const FILE_LEN_MAX: u64 = 16 << 20;

/// Where the credentials came from.
pub(crate) enum Origin {
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
struct Pair {
    access_key: String,
    secret_key: Zeroizing<String>,
    /// Further pairs: access key = secret.
    #[serde(default)]
    more: BTreeMap<String, Zeroizing<String>>,
}

/// The environment's pair or the file's, once more.
pub(crate) fn reload(file: &Path) -> Result<Credentials> {
    if std::env::var_os("RIPSTOP_ACCESS_KEY").is_none() && !file.exists() {
        bail!("credentials {} are not there any more", file.display());
    }
    Ok(load(file)?.0)
}

/// The environment's pair, the file's, or a new one that is written to the file for its owner alone.
pub(crate) fn load(file: &Path) -> Result<(Credentials, Origin)> {
    let variables = ["RIPSTOP_ACCESS_KEY", "RIPSTOP_SECRET_KEY"].map(std::env::var);
    let (pair, origin) = match variables {
        [Ok(access_key), Ok(secret_key)] => {
            let secret_key = Zeroizing::new(secret_key);
            (Pair { access_key, secret_key, more: BTreeMap::new() }, Origin::Known)
        }
        [Err(_), Err(_)] => match File::open(file) {
            Ok(opened) => (read(file, opened)?, Origin::Known),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (access_key, secret_key) = generate(file)?;
                let pair = Pair {
                    access_key: access_key.clone(),
                    secret_key: secret_key.clone(),
                    more: BTreeMap::new(),
                };
                (pair, Origin::New { access_key, secret_key })
            }
            Err(error) => {
                return Err(error).with_context(|| format!("credentials {}", file.display()));
            }
        },
        _ => bail!("RIPSTOP_ACCESS_KEY and RIPSTOP_SECRET_KEY must be set together"),
    };
    let mut credentials = Credentials::new();
    let Pair { access_key, secret_key, more } = pair;
    for (access_key, secret_key) in more.into_iter().chain([(access_key, secret_key)]) {
        check(&access_key, &secret_key)?;
        credentials.insert(access_key, secret_key);
    }
    Ok((credentials, origin))
}

fn read(file: &Path, opened: File) -> Result<Pair> {
    let metadata = opened.metadata()?;
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        bail!(
            "credentials {} can be read by others than their owner (mode {:o}): chmod 600",
            file.display(),
            mode & 0o777
        );
    }
    // Room for all of it from the start: a text that moves as it grows leaves copies behind.
    let len = metadata.len().min(FILE_LEN_MAX);
    let mut text = Zeroizing::new(String::with_capacity(len as usize + 1));
    let read = opened.take(FILE_LEN_MAX).read_to_string(&mut text);
    read.with_context(|| format!("credentials {}", file.display()))?;
    // The parser's message would quote the line, secret and all.
    let parsed: Result<Pair, _> = toml::from_str(&text);
    parsed.ok().with_context(|| {
        let path = file.display();
        format!(
            "credentials {path}: two lines are wanted, access_key = \"…\" and secret_key = \"…\""
        )
    })
}

fn check(access_key: &str, secret_key: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(3..=128).contains(&access_key.len()) || !access_key.chars().all(plain) {
        bail!("an access key must be 3 to 128 letters, digits, '-', '_' or '.'");
    }
    if !(8..=128).contains(&secret_key.len()) {
        bail!("a secret key must be 8 to 128 characters long");
    }
    Ok(())
}

fn generate(file: &Path) -> Result<(String, Zeroizing<String>)> {
    let mut random = Zeroizing::new([0; 28]);
    getrandom::fill(&mut *random).map_err(|error| anyhow!("no randomness: {error}"))?;
    let access_key = format!("RS{}", hex::encode_upper(&random[..9]));
    let secret_key = Zeroizing::new(hex::encode(&random[9..]));
    let at = || format!("credentials {}", file.display());
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).with_context(at)?;
    let pair = format!("access_key = \"{access_key}\"\nsecret_key = \"{}\"\n", *secret_key);
    out.write_all(Zeroizing::new(pair).as_bytes()).with_context(at)?;
    out.sync_all().with_context(at)?;
    Ok((access_key, secret_key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn made_once_kept_for_the_owner_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let (_, first) = load(&file).unwrap();
        assert!(matches!(first, Origin::New { .. }));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let (_, second) = load(&file).unwrap();
        assert!(matches!(second, Origin::Known));
        let more = fs::read_to_string(&file).unwrap() + "[more]\nguest = \"a-secret\"\n";
        fs::write(&file, &more).unwrap();
        assert!(load(&file).is_ok());
        fs::write(&file, more.replace("a-secret", "short")).unwrap();
        assert!(load(&file).is_err());
    }

    #[test]
    fn refusals_do_not_show_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        fs::write(&file, "access_key = \"me\"\nsecret = \"hush-hush\"\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(load(&file).err().unwrap().to_string().contains("mode 644"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(!format!("{:#}", load(&file).err().unwrap()).contains("hush"));
    }
}
