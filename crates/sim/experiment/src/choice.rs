use crate::{Load, Setting, fit::fitted};
use core::{fmt, str::FromStr, time::Duration};
use ripstop_model::Code;
use ripstop_policy::{Ideal, Limits, Policy, Settings, by_name};

/// A policy by name, with what it is told: `tofec`, `fixed(2,1)`, `hedge(2,1)@100ms`, `ideal`.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyChoice {
    name: String,
    code: Option<Code>,
    after: Option<Duration>,
}

/// The text names no policy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParsePolicyError {
    /// There is none with this name.
    #[error("{0}; or ideal")]
    Unknown(ripstop_policy::UnknownPolicy),
    /// What follows the name is no code.
    #[error(
        "{0:?} is not a policy: after the name comes (n,k) with 1 ≤ k ≤ n ≤ 255, then @ and milliseconds, as in hedge(2,1)@100ms"
    )]
    Form(String),
}

const IDEAL: &str = "ideal";

impl FromStr for PolicyChoice {
    type Err = ParsePolicyError;
    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        let form = || ParsePolicyError::Form(text.to_owned());
        let (rest, after) = match text.split_once('@') {
            None => (text, None),
            Some((rest, after)) => {
                let ms: f64 = after
                    .strip_suffix("ms")
                    .and_then(|ms| ms.parse().ok())
                    .filter(|ms| (0.0..1e9).contains(ms))
                    .ok_or_else(form)?;
                (rest, Some(Duration::from_secs_f64(ms / 1000.0)))
            }
        };
        let (name, code) = match rest.split_once('(') {
            None => (rest, None),
            Some((name, code)) => {
                let pair = code.strip_suffix(')').and_then(|code| code.split_once(','));
                let (n, k) = pair.ok_or_else(form)?;
                let number = |text: &str| text.trim().parse::<usize>().map_err(|_| form());
                (name, Some(Code::new(number(n)?, number(k)?).map_err(|_| form())?))
            }
        };
        if name != IDEAL {
            by_name(name, &Settings::default()).map_err(ParsePolicyError::Unknown)?;
        }
        Ok(Self { name: name.to_owned(), code, after })
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(code) = self.code {
            write!(f, "{code}")?;
        }
        if let Some(after) = self.after {
            write!(f, "@{}ms", after.as_secs_f64() * 1000.0)?;
        }
        Ok(())
    }
}

impl PolicyChoice {
    /// `fixed` with this code.
    pub fn fixed(code: Code) -> Self {
        Self { name: "fixed".to_owned(), code: Some(code), after: None }
    }

    /// Its name alone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The code after its name.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// The policy, for one run. A delay model that it wants is the node's own, or fitted to it.
    pub fn policy(
        &self,
        setting: &Setting,
        load: &Load,
        limits: Limits,
        memory: f64,
    ) -> Box<dyn Policy> {
        let wants_model = ["tofec", "tofec-multi", "fixed-dimension", IDEAL];
        let model = wants_model.contains(&self.name.as_str()).then(|| fitted(setting));
        let default = Settings::default();
        let settings = Settings {
            code: self.code,
            limits,
            memory,
            model,
            hedge_after: self.after.unwrap_or(default.hedge_after),
            ..default
        };
        if self.name == IDEAL {
            let model = model.expect("ideal wants a model");
            return Box::new(Ideal::new(&settings, model, &load.rates()));
        }
        by_name(&self.name, &settings).expect("the name was looked up when it was parsed")
    }
}
