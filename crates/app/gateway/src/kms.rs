//! The key service, from its configuration: files of certificates and secrets.

use crate::{
    config::{Config, KmsConfig, KmsLoginConfig},
    owner_only, secret_file,
};
use anyhow::{Context as _, Result};
use ripstop_kms::{Kms, KmsLink, KmsLogin, KmsSecret, KmsSettings, KmsTls};
use ripstop_s3::ObjectKeys;
use std::{fs, io, path::Path, sync::Arc};
use zeroize::Zeroizing;

/// Reads what a key service is asked with, and asks nothing: whether it can be.
pub fn check_kms(config: &Config) -> Result<()> {
    link(config).map(drop)
}

/// The configured key service, if there is one.
pub(crate) fn link(config: &Config) -> Result<Option<KmsLink>> {
    let Some(kms) = &config.kms else { return Ok(None) };
    let link = settings(kms).and_then(|settings| Ok(KmsLink::new(settings)?));
    link.context("the key service ([kms])").map(Some)
}

/// Has named keys of objects be at this service from now on, or at none.
pub(crate) fn adopt(kms: &Kms, link: Option<KmsLink>, keys: &ObjectKeys) {
    kms.adopt(link);
    keys.serve_with(kms.is_there().then(|| Arc::new(kms.clone()) as _));
}

fn settings(config: &KmsConfig) -> Result<KmsSettings> {
    let KmsConfig { url, mount, namespace, default_key, timeout, .. } = config.clone();
    let authorities = config
        .ca
        .as_deref()
        .map(|path| fs::read(path).with_context(|| format!("kms.ca {}", path.display())));
    let identity = config.identity.as_ref().map(|files| {
        let certificate = &files.certificate;
        let at = || format!("kms.certificate {}", certificate.display());
        let key = secret_file::read(&files.key)?;
        let missing = || format!("there is no kms.certificate_key {}", files.key.display());
        let key = Zeroizing::new(key.with_context(missing)?.as_bytes().to_vec());
        Ok::<_, anyhow::Error>((fs::read(certificate).with_context(at)?, key))
    });
    let login = match &config.login {
        KmsLoginConfig::Token(file) => KmsLogin::Token(secret(file)),
        KmsLoginConfig::AppRole { mount, role_id, secret_id } => KmsLogin::AppRole {
            mount: mount.clone(),
            role_id: role_id.clone(),
            secret_id: secret(secret_id),
        },
        KmsLoginConfig::Certificate { mount, role } => {
            KmsLogin::Certificate { mount: mount.clone(), role: role.clone() }
        }
    };
    Ok(KmsSettings {
        url,
        mount,
        namespace,
        default_key,
        login,
        tls: KmsTls { authorities: authorities.transpose()?, identity: identity.transpose()? },
        timeout,
        calls_max: config.calls_max,
        cached_for: config.cached_for,
        cached_max: config.cached_max,
    })
}

/// The one line of a file that only its owner may read.
fn secret(file: &Path) -> KmsSecret {
    let file = file.to_owned();
    KmsSecret::new(move || {
        let read = owner_only::token(&file).map(Zeroizing::new);
        read.map_err(|error| io::Error::other(format!("{error:#}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        assembly::assemble,
        config::{load, parse},
        credentials,
        data_folder::DataFolder,
        fleet::fleet_of,
        planning::StartPlanning,
        reload::{Reload, Reread},
        telemetry::Telemetry,
    };
    use std::os::unix::fs::PermissionsExt as _;

    const REST: &str =
        "[[pool]]\nname = \"p\"\ncode = [1, 1]\n[[node]]\nname = \"n\"\nkind = \"memory\"\n";

    #[test]
    fn what_a_service_is_asked_with_is_read_and_no_secret_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        let url = "url = \"http://127.0.0.1:8200\"";
        let text = format!("[kms]\n{url}\ntoken = {token:?}\n{REST}");
        let config = parse(&text, []).unwrap();
        let told = || check_kms(&config).map_err(|error| format!("{error:#}"));
        assert!(told().unwrap_err().contains("the secret to log in with: token"), "{:?}", told());
        fs::write(&token, "s.0123456789abcdefghij\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(told().unwrap_err().contains("chmod 600"));
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        told().unwrap();
        let link = link(&config).unwrap().unwrap();
        assert!(!format!("{link:?} {config:?}").contains("0123456789"));
        let mut with_ca = config.clone();
        let kms = with_ca.kms.as_mut().unwrap();
        kms.url = "https://127.0.0.1:8200".parse().unwrap();
        kms.ca = Some(token.clone());
        let told = format!("{:#}", check_kms(&with_ca).unwrap_err());
        assert!(told.contains("authorities"), "{told}");
    }

    #[tokio::test]
    async fn a_reload_begins_changes_and_ends_it_or_leaves_all_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (file, token) = (folder.path().join("ripstop.toml"), folder.path().join("token"));
        let write = |kms: &str| {
            let data = folder.path().join("data");
            fs::write(&file, format!("[gateway]\ndata = {data:?}\n{kms}\n{REST}")).unwrap();
        };
        let with_key = |key: &str| {
            let url = "url = \"http://127.0.0.1:1\"";
            format!("[kms]\n{url}\ntoken = {token:?}\ndefault_key = \"{key}\"")
        };
        write("");
        let from = file.clone();
        let reread: Reread = Arc::new(move || load(Some(&from), std::iter::empty()));
        let config = reread().unwrap();
        let nobody: StartPlanning = |_| unreachable!("no pool is to plan itself");
        let _folder = DataFolder::create(&config).unwrap();
        let (credentials, _) = credentials::load(&config.credentials).unwrap();
        let assembly = assemble(&config, &Telemetry::new(false, None)).await.unwrap();
        let fleet = fleet_of(&config, &assembly, config.listen).unwrap();
        let seams = (reread, nobody);
        let reload = Reload::begin(seams, &config, credentials, &assembly, fleet, None);
        let reload = reload.unwrap();
        let now = || (assembly.kms.is_there(), assembly.object_keys.default_name());
        assert_eq!(now(), (false, "aws/s3".to_owned()));
        write(&with_key("reports"));
        assert!(reload.reload().is_err(), "its token is not there");
        assert_eq!(now(), (false, "aws/s3".to_owned()));
        fs::write(&token, "s.0123456789abcdefghij\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        for key in ["reports", "ledger"] {
            write(&with_key(key));
            let said = reload.reload().unwrap();
            assert!(!said.contains("restart"), "{said}");
            assert_eq!(now(), (true, key.to_owned()));
        }
        write("");
        reload.reload().unwrap();
        assert_eq!(now(), (false, "aws/s3".to_owned()));
    }
}
