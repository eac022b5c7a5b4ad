//! TLS to a real server, with an authority of the test's own.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ripstop_catalog::Catalog as _;
use ripstop_postgres::{Postgres, PostgresSettings};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::time::Duration;
use support::run;
use support::server::{Server, user};

/// An authority's certificate, in a file; and a server's by it, with its key.
fn certificates(folder: &Path, authority: &str, host: &str) -> [String; 3] {
    let mut of_authority = CertificateParams::new(Vec::new()).unwrap();
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let root = of_authority.self_signed(&key).unwrap();
    let issuer = Issuer::new(of_authority, key);
    let own = KeyPair::generate().unwrap();
    let of_server = CertificateParams::new(vec![host.to_owned()]).unwrap();
    let certificate = of_server.signed_by(&own, &issuer).unwrap();
    let files = [
        (format!("{authority}.pem"), root.pem()),
        (format!("{authority}-server.pem"), certificate.pem()),
        (format!("{authority}-server.key"), own.serialize_pem()),
    ];
    files.map(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = user() {
            chown(&path, Some(user), Some(group)).unwrap();
        }
        path.to_str().unwrap().to_owned()
    })
}

fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn a_server_is_believed_by_its_authority_and_its_name_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let [root, certificate, key] = certificates(folder.path(), "own", "localhost");
    let [other, _, _] = certificates(folder.path(), "other", "localhost");
    let (certificate, key) =
        (format!("ssl_cert_file={certificate}"), format!("ssl_key_file={key}"));
    let server = match Server::start(&["ssl=on", &certificate, &key]) {
        Ok(server) => server,
        Err(reason) if std::env::var_os("RIPSTOP_POSTGRES").is_none() => {
            println!("skipped: {reason}");
            return;
        }
        Err(reason) => panic!("{reason}"),
    };
    let url = |host: &str, root: &str| {
        let port = server.port;
        format!("postgres://ripstop@{host}:{port}/postgres?sslmode=verify-full&sslrootcert={root}")
    };
    run(async {
        let settings =
            PostgresSettings { patience: Duration::from_secs(1), ..PostgresSettings::default() };
        let trusted = url("localhost", &root).parse().unwrap();
        let catalog = Postgres::open(&trusted, settings.clone()).await.unwrap();
        assert!(catalog.bucket("b").await.unwrap().is_none());
        let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                         WHERE ssl AND application_name = 'ripstop'";
        assert_ne!(server.simple(encrypted).await, ["0"]);
        // Another's authority, and a name that the certificate does not have.
        for refused in [url("localhost", &other), url("127.0.0.1", &root)] {
            let error = Postgres::open(&refused.parse().unwrap(), settings.clone()).await;
            let error = told(&error.unwrap_err());
            assert!(error.contains("certificate"), "{refused}: {error}");
        }
    });
}
