//! A service as it is configured: what is asked of it, at most how much at once, and how often.

use crate::{
    counts::{Counts, Ended, KmsCall},
    login::Session,
    settings::{KmsError, KmsSettings},
    transit::{self, Verdict},
    wire::{Came, Wire},
};
use ripstop_envelope::KeyFault;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use zeroize::Zeroizing;

/// How often a call is tried.
const TRIES_MAX: u32 = 3;
/// How soon it is tried again the first time; four times as late each further time.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// Requests that wait for a place; further ones are turned away.
const WAITING_MAX: usize = 1024;
/// For this long nothing is asked of a service that has not answered any try of a call.
const DOWN_FOR: Duration = Duration::from_secs(1);
/// Names of keys that are known to be fit.
const FIT_MAX: usize = 1024;

/// A key service as it is configured. Nothing is asked of it before a key is needed.
pub struct KmsLink {
    pub(crate) settings: KmsSettings,
    wire: Wire,
    session: Session,
    places: Semaphore,
    waiting: Semaphore,
    /// Since when it has not answered, and what was met.
    down: Mutex<Option<(Instant, String)>>,
    /// Keys that were looked up, and until when that is believed.
    fit: Mutex<BTreeMap<String, Instant>>,
}

impl fmt::Debug for KmsLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsLink").field("url", &self.settings.url).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KmsLink {
    /// Reads certificates and the secret, which may block.
    pub fn new(settings: KmsSettings) -> Result<Self, KmsError> {
        let (wire, session) = (Wire::new(&settings)?, Session::new(settings.login.clone()));
        session.check()?;
        Ok(Self {
            wire,
            session,
            places: Semaphore::new(settings.calls_max),
            waiting: Semaphore::new(WAITING_MAX),
            down: Mutex::default(),
            fit: Mutex::default(),
            settings,
        })
    }

    /// Whether what one has sealed the other opens.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        let place = |link: &Self| {
            let KmsSettings { url, mount, namespace, .. } = &link.settings;
            (url.clone(), mount.clone(), namespace.clone())
        };
        place(self) == place(other)
    }

    /// A place among those who ask, unless there is no point in asking.
    pub(crate) async fn place(&self, counts: &Counts) -> Result<SemaphorePermit<'_>, KeyFault> {
        let turned_away = |fault: KeyFault| {
            counts.turned_away.fetch_add(1, Relaxed);
            fault
        };
        self.must_be_up().map_err(turned_away)?;
        let _waits = self.waiting.try_acquire().map_err(|_| turned_away(KeyFault::Busy))?;
        let place = timeout(self.settings.timeout, self.places.acquire()).await;
        let place = place.map_err(|_| turned_away(KeyFault::Busy))?;
        // Who had the place before may have found out meanwhile.
        self.must_be_up().map_err(turned_away)?;
        place.map_err(|_| KeyFault::Busy)
    }

    fn must_be_up(&self) -> Result<(), KeyFault> {
        let down = locked(&self.down);
        match &*down {
            Some((since, said)) if ripstop_host::since(*since) < DOWN_FOR => {
                Err(KeyFault::Unavailable { said: said.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses a key that is not there, or wraps no keys. An `encrypt` with a name that is none
    /// would make a key of that name, if the gateway may make keys.
    pub(crate) async fn must_be_fit(&self, key: &str, counts: &Counts) -> Result<(), KeyFault> {
        let now = ripstop_host::now();
        if locked(&self.fit).get(key).is_some_and(|until| now < *until) {
            return Ok(());
        }
        let path = format!("{}/keys/{key}", self.settings.mount);
        let fit = |came: &Came| transit::is_fit(came, key);
        match self.call(KmsCall::LookUp, (&path, key), || Ok(None), fit, counts).await {
            // Who may not look keys up may be let use them all the same.
            Ok(()) | Err(KeyFault::Refused { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let mut known = locked(&self.fit);
        known.retain(|_, until| now < *until);
        if known.len() < FIT_MAX {
            known.insert(key.to_owned(), now + self.settings.cached_for);
        }
        Ok(())
    }

    /// Has a key be looked up again before it is used.
    pub(crate) fn doubt(&self, key: &str) {
        locked(&self.fit).remove(key);
    }

    /// Asks, again where that may help, and reads the answer.
    pub(crate) async fn call<T>(
        &self,
        call: KmsCall,
        (path, key): (&str, &str),
        body: impl Fn() -> Result<Option<Zeroizing<Vec<u8>>>, KeyFault>,
        read: impl Fn(&Came) -> Result<T, Verdict>,
        counts: &Counts,
    ) -> Result<T, KeyFault> {
        let (mut tries, mut again_after, mut is_renewed) = (0, AGAIN_AFTER, false);
        loop {
            tries += 1;
            let said = match self.once(call, (path, key), body()?, &read, counts).await {
                Ok(answer) => {
                    *locked(&self.down) = None;
                    return Ok(answer);
                }
                Err((Verdict::Fault(fault), _)) => return Err(fault),
                Err((Verdict::Forbidden(said), refused)) => {
                    let refused = refused.filter(|_| !is_renewed);
                    let renewed = match &refused {
                        Some(token) => self.session.refused(token).await,
                        None => Ok(false),
                    };
                    is_renewed = true;
                    match renewed {
                        Ok(true) => continue,
                        Ok(false) => {
                            return Err(KeyFault::Refused { key: key.to_owned(), said });
                        }
                        Err(Verdict::Fault(fault)) => return Err(fault),
                        Err(Verdict::Forbidden(said) | Verdict::Again(said)) => said,
                    }
                }
                Err((Verdict::Again(said), _)) => said,
            };
            if tries >= TRIES_MAX {
                *locked(&self.down) = Some((ripstop_host::now(), said.clone()));
                return Err(KeyFault::Unavailable { said });
            }
            tokio::time::sleep(again_after).await;
            again_after *= 4;
        }
    }

    /// Asks once; with what was met goes the token that was used.
    async fn once<T>(
        &self,
        call: KmsCall,
        (path, key): (&str, &str),
        body: Option<Zeroizing<Vec<u8>>>,
        read: impl Fn(&Came) -> Result<T, Verdict>,
        counts: &Counts,
    ) -> Result<T, (Verdict, Option<crate::login::Token>)> {
        let of_login = |failed: Option<&Verdict>, took| {
            counts.count(KmsCall::LogIn, ended(failed), took);
        };
        let token = self.session.token(&self.wire, of_login).await;
        let token = token.map_err(|verdict| (verdict, None))?;
        let begun = ripstop_host::now();
        let came = self.wire.ask(path, Some(&token.text), body).await;
        let answer = came.map_err(Verdict::Again).and_then(|came| match came.status {
            200..300 => read(&came),
            _ => Err(transit::refusal(&came, key)),
        });
        counts.count(call, ended(answer.as_ref().err()), ripstop_host::since(begun));
        answer.map_err(|verdict| (verdict, Some(token)))
    }
}

fn ended(failed: Option<&Verdict>) -> Ended {
    match failed {
        None => Ended::Done,
        Some(Verdict::Fault(KeyFault::Unavailable { .. }) | Verdict::Again(_)) => {
            Ended::Unavailable
        }
        Some(Verdict::Fault(_) | Verdict::Forbidden(_)) => Ended::Refused,
    }
}
