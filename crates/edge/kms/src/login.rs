//! Who the gateway is at the key service: its token, and where it comes from.

use crate::{
    settings::{KmsError, KmsLogin, KmsSecret},
    transit::{self, Verdict},
    wire::Wire,
};
use ripstop_envelope::KeyFault;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;
use zeroize::Zeroizing;

/// A token of a login that is younger is not replaced because it was refused: each has a lease at
/// the service.
const LOGIN_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A token in use.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) text: Arc<Zeroizing<String>>,
    got: Instant,
    until: Option<Instant>,
}

/// Gets tokens, and has the one in use.
pub(crate) struct Session {
    login: KmsLogin,
    token: Mutex<Option<Token>>,
}

async fn read(secret: &KmsSecret) -> Result<Zeroizing<String>, Verdict> {
    let secret = secret.clone();
    let read = ripstop_host::spawn_blocking(move || secret.read()).await;
    let unread = |why: String| {
        let said = format!("the secret to log in with cannot be read: {why}");
        Verdict::Fault(KeyFault::Unavailable { said })
    };
    let read = read.map_err(|error| unread(error.to_string()))?;
    read.map_err(|error| unread(error.to_string()))
}

impl Session {
    pub(crate) fn new(login: KmsLogin) -> Self {
        Self { login, token: Mutex::default() }
    }

    /// Reads the secret once, to tell whether it can be.
    pub(crate) fn check(&self) -> Result<(), KmsError> {
        match &self.login {
            KmsLogin::Token(secret) | KmsLogin::AppRole { secret_id: secret, .. } => {
                secret.read().map(drop).map_err(KmsError::Secret)
            }
            KmsLogin::Certificate { .. } => Ok(()),
        }
    }

    /// The token in use, or a new one where there is none or its time is nearly over.
    /// `counted` hears of a login.
    pub(crate) async fn token(&self, wire: &Wire, counted: impl Counted) -> Result<Token, Verdict> {
        // Others log in meanwhile, one after the other where the service does not answer.
        let locked = tokio::time::timeout(wire.timeout, self.token.lock()).await;
        let late = |_| Verdict::Again("others are still logging in".to_owned());
        let mut token = locked.map_err(late)?;
        let now = ripstop_host::now();
        let fresh = token.as_ref().filter(|token| token.until.is_none_or(|until| now < until));
        if let Some(fresh) = fresh {
            return Ok(fresh.clone());
        }
        let got = self.log_in(wire, counted).await?;
        *token = Some(got.clone());
        Ok(got)
    }

    /// Puts this token out of use, which was refused; whether another one may be better.
    pub(crate) async fn refused(&self, refused: &Token) -> Result<bool, Verdict> {
        let mut token = self.token.lock().await;
        let is_in_use = token.as_ref().is_some_and(|token| Arc::ptr_eq(&token.text, &refused.text));
        if !is_in_use {
            return Ok(true);
        }
        match &self.login {
            KmsLogin::Token(secret) => {
                if *read(secret).await? == **refused.text {
                    return Ok(false);
                }
            }
            KmsLogin::AppRole { .. } | KmsLogin::Certificate { .. } => {
                if ripstop_host::since(refused.got) < LOGIN_AGAIN_AFTER {
                    return Ok(false);
                }
            }
        }
        *token = None;
        Ok(true)
    }

    async fn log_in(&self, wire: &Wire, counted: impl Counted) -> Result<Token, Verdict> {
        let got = ripstop_host::now();
        let (mount, said) = match &self.login {
            KmsLogin::Token(secret) => {
                let text = Arc::new(read(secret).await?);
                return Ok(Token { text, got, until: None });
            }
            KmsLogin::AppRole { mount, role_id, secret_id } => {
                let secret_id = read(secret_id).await?;
                (mount, serde_json::json!({ "role_id": role_id, "secret_id": &**secret_id }))
            }
            KmsLogin::Certificate { mount, role } => (mount, serde_json::json!({ "name": role })),
        };
        let said = Zeroizing::new(said.to_string().into_bytes());
        let asked = wire.ask(&format!("auth/{mount}/login"), None, Some(said)).await;
        let answered = asked.map_err(Verdict::Again).and_then(|came| match came.status {
            200..300 => transit::logged_in(&came),
            // It says 400 to a secret id that is none.
            400 | 403 => Err(Verdict::Forbidden("it does not let the gateway log in".to_owned())),
            _ => Err(transit::refusal(&came, "")),
        });
        counted(answered.as_ref().err(), ripstop_host::since(got));
        let auth = answered?;
        // Before its time is over: what is under way with it should still be let in.
        let lease = Duration::from_secs(auth.lease_duration);
        let until = (!lease.is_zero()).then(|| got + lease / 3 * 2);
        Ok(Token { text: Arc::new(auth.client_token), got, until })
    }
}

/// What counts a login: how it failed, if it did, and how long it took.
pub(crate) trait Counted: FnOnce(Option<&Verdict>, Duration) + Send {}

impl<F: FnOnce(Option<&Verdict>, Duration) + Send> Counted for F {}
