//! A server of OpenBao of the tests' own, on loopback: sealed storage in a folder, TLS for gateways
//! and plain HTTP for the tests themselves.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says why")]
#![allow(clippy::unnecessary_debug_formatting, reason = "the configuration has paths in quotes")]

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use ripstop_kms::{KmsLogin, KmsSecret, KmsSettings, KmsTls};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use zeroize::Zeroizing;

/// How long a server may take to start.
const STARTING_MAX: Duration = Duration::from_mins(1);

pub(crate) struct Bao {
    folder: TempDir,
    program: PathBuf,
    /// Of TLS, and of HTTP.
    ports: [u16; 2],
    child: Mutex<Option<Child>>,
    root: String,
    unseal: String,
    authority: String,
    client: (String, String),
}

/// The program: where `RIPSTOP_OPENBAO` says, or on PATH.
fn program() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("RIPSTOP_OPENBAO").map(PathBuf::from) {
        let missing = || format!("RIPSTOP_OPENBAO: no program {}", path.display());
        return if path.is_file() { Ok(path.clone()) } else { Err(missing()) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&path).map(|folder| folder.join("bao"));
    paths.find(|path| path.is_file()).ok_or_else(|| "no OpenBao: no `bao` on PATH".to_owned())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A started server; `None`, having said why, where there is no program.
pub(crate) fn bao() -> Option<Bao> {
    match program() {
        Ok(program) => Some(Bao::start(program)),
        Err(reason) if std::env::var_os("RIPSTOP_OPENBAO").is_none() => {
            println!("skipped: {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

struct Issued {
    authority: String,
    server: (String, String),
    client: (String, String),
}

fn certificates() -> Issued {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issued = |names: Vec<String>, name: &str| {
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![
            rcgen::ExtendedKeyUsagePurpose::ServerAuth,
            rcgen::ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    Issued {
        server: issued(vec!["127.0.0.1".to_owned()], "server"),
        client: issued(vec!["gateway".to_owned()], "gateway"),
        authority: authority.pem(),
    }
}

impl Bao {
    fn start(program: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let Issued { authority, server, client } = certificates();
        let at = |name: &str| folder.path().join(name);
        for (name, pem) in
            [("ca.pem", &authority), ("server.pem", &server.0), ("server.key", &server.1)]
        {
            fs::write(at(name), pem).unwrap();
        }
        fs::create_dir(at("data")).unwrap();
        let ports = [free_port(), free_port()];
        let config = format!(
            "ui = false\napi_addr = \"https://127.0.0.1:{}\"\n\
             cluster_addr = \"https://127.0.0.1:{}\"\n\
             storage \"raft\" {{\n path = {:?}\n node_id = \"one\"\n}}\n\
             listener \"tcp\" {{\n address = \"127.0.0.1:{}\"\n tls_cert_file = {:?}\n \
             tls_key_file = {:?}\n tls_client_ca_file = {:?}\n}}\n\
             listener \"tcp\" {{\n address = \"127.0.0.1:{}\"\n tls_disable = true\n}}\n",
            ports[0],
            free_port(),
            at("data"),
            ports[0],
            at("server.pem"),
            at("server.key"),
            at("ca.pem"),
            ports[1],
        );
        fs::write(at("bao.hcl"), config).unwrap();
        let (child, root, unseal) = (Mutex::default(), String::new(), String::new());
        let mut bao = Self { folder, program, ports, child, root, unseal, authority, client };
        bao.run();
        let made = bao.call("PUT", "sys/init", &json!({"secret_shares": 1, "secret_threshold": 1}));
        bao.root = String::from(made["root_token"].as_str().unwrap());
        bao.unseal = String::from(made["keys"][0].as_str().unwrap());
        bao.unseal();
        bao.call("POST", "sys/mounts/transit", &json!({"type": "transit"}));
        bao.make_key("reports");
        bao.call("POST", "sys/policies/acl/gateway", &json!({"policy": POLICY}));
        bao
    }

    /// Starts the process, sealed.
    fn run(&self) {
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let child = Command::new(&self.program)
            .arg("server")
            .arg(format!("-config={}", self.folder.path().join("bao.hcl").display()))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.child() = Some(child);
        let begun = Instant::now();
        while self.send("GET", "sys/seal-status", "").is_none() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let ended = self.child().as_mut().unwrap().try_wait().unwrap().is_some();
            let waits = begun.elapsed() < STARTING_MAX && !ended;
            assert!(waits, "OpenBao does not start: {}", log());
            sleep(Duration::from_millis(50));
        }
    }

    fn unseal(&self) {
        self.call("PUT", "sys/unseal", &json!({"key": self.unseal}));
        let begun = Instant::now();
        while self.send("GET", "sys/health", "").is_none_or(|(status, _)| status != 200) {
            assert!(begun.elapsed() < STARTING_MAX, "OpenBao stays sealed");
            sleep(Duration::from_millis(50));
        }
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process at once.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.child().take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it again over what it had stored.
    pub(crate) fn restart(&self) {
        self.run();
        self.unseal();
    }

    /// Sends the process a signal: `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child().as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
        let mut to = TcpStream::connect(("127.0.0.1", self.ports[1])).ok()?;
        to.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (root, len) = (&self.root, body.len());
        write!(
            to,
            "{method} /v1/{path} HTTP/1.0\r\nX-Vault-Token: {root}\r\nContent-Length: {len}\r\n\r\n{body}"
        )
        .ok()?;
        let mut came = String::new();
        to.read_to_string(&mut came).ok()?;
        let (head, body) = came.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// As who may do all.
    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (status, came) = self.send(method, path, &text).unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {came}");
        came
    }

    pub(crate) fn make_key(&self, name: &str) {
        self.call("POST", &format!("transit/keys/{name}"), &json!({}));
    }

    pub(crate) fn rotate_key(&self, name: &str) {
        self.call("POST", &format!("transit/keys/{name}/rotate"), &json!({}));
    }

    pub(crate) fn configure_key(&self, name: &str, what: &Value) {
        self.call("POST", &format!("transit/keys/{name}/config"), what);
    }

    pub(crate) fn delete_key(&self, name: &str) {
        self.configure_key(name, &json!({"deletion_allowed": true}));
        self.call("DELETE", &format!("transit/keys/{name}"), &Value::Null);
    }

    /// Names of keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        let listed = self.call("GET", "transit/keys?list=true", &Value::Null);
        serde_json::from_value(listed["data"]["keys"].clone()).unwrap()
    }

    /// A token that may use keys, and nothing else.
    pub(crate) fn token(&self) -> String {
        self.token_with(&json!({"policies": ["gateway"]}))
    }

    pub(crate) fn token_with(&self, what: &Value) -> String {
        let made = self.call("POST", "auth/token/create", what);
        made["auth"]["client_token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn revoke(&self, token: &str) {
        self.call("POST", "auth/token/revoke", &json!({"token": token}));
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// The certificate of a client, and its key.
    pub(crate) fn identity(&self) -> &(String, String) {
        &self.client
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports[0])
    }

    /// Over TLS, as who this says.
    pub(crate) fn settings(&self, login: KmsLogin) -> KmsSettings {
        KmsSettings {
            url: self.url().parse().unwrap(),
            mount: "transit".to_owned(),
            namespace: None,
            default_key: None,
            login,
            tls: KmsTls { authorities: Some(self.authority.clone().into()), identity: None },
            timeout: Duration::from_secs(10),
            calls_max: 8,
            cached_for: Duration::from_mins(5),
            cached_max: 100,
        }
    }
}

impl Drop for Bao {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What docs/operations.md gives a gateway.
const POLICY: &str = "path \"transit/keys/*\" { capabilities = [\"read\"] }\n\
    path \"transit/encrypt/*\" { capabilities = [\"update\"] }\n\
    path \"transit/decrypt/*\" { capabilities = [\"update\"] }\n";

/// A secret that a test can change.
#[derive(Clone)]
pub(crate) struct Secret(Arc<Mutex<String>>);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Mutex::new(text.into())))
    }

    pub(crate) fn set(&self, text: impl Into<String>) {
        *self.0.lock().unwrap() = text.into();
    }

    pub(crate) fn read(&self) -> KmsSecret {
        let text = self.0.clone();
        KmsSecret::new(move || Ok(Zeroizing::new(text.lock().unwrap().clone())))
    }
}
