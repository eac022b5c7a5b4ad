use crate::{Layout, Load, Setting, fit::fitted};
use core::{fmt, str::FromStr, time::Duration};
use ripstop_model::Code;
use ripstop_policy::{
    Chunking, Ideal, Limits, Policy, PolicySettings, SettingKey, by_name, readers,
};

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
    /// It is told what it does not read.
    #[error("{text:?}: {name} takes no {what}; {readers} do")]
    Foreign {
        /// What was written.
        text: String,
        /// The policy.
        name: String,
        /// What it was told.
        what: &'static str,
        /// Policies that read it.
        readers: String,
    },
}

/// The pool cannot serve a request so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{policy}: the code (n,k) is not possible; of the storage code {storage}, {ks}, and n is at most {n_max}"
)]
pub struct ImpossibleCode {
    policy: String,
    storage: Code,
    ks: String,
    n_max: String,
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
            by_name(name, &PolicySettings::default()).map_err(ParsePolicyError::Unknown)?;
        }
        let told = [
            (code.is_some(), "(n,k)", SettingKey::Code),
            (after.is_some(), "@ and milliseconds", SettingKey::HedgeAfter),
        ];
        for (is_told, what, key) in told {
            if is_told && !readers(key).any(|reader| reader == name) {
                return Err(ParsePolicyError::Foreign {
                    text: text.to_owned(),
                    name: name.to_owned(),
                    what,
                    readers: readers(key).collect::<Vec<_>>().join(", "),
                });
            }
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

    /// Refuses a code that the pool has not, which the machine would replace by the nearest it has.
    pub fn check(&self, storage: Code, layout: Layout) -> Result<(), ImpossibleCode> {
        let Some(code) = self.code else { return Ok(()) };
        let chunking = match layout {
            Layout::Spread => Chunking::Strip,
            Layout::Unique | Layout::Shared => Chunking::Run,
        };
        if chunking.serves(storage, code) {
            return Ok(());
        }
        let (n, k) = (storage.n(), storage.k());
        let (ks, n_max) = match layout {
            Layout::Spread => (format!("where strips are spread, k is {k}"), n.to_string()),
            Layout::Unique | Layout::Shared => (format!("k divides {k}"), format!("{n}·k/{k}")),
        };
        Err(ImpossibleCode { policy: self.to_string(), storage, ks, n_max })
    }

    /// The policy, for one run. A delay model that it wants is the node's own, or fitted to it.
    pub fn policy(
        &self,
        setting: &Setting,
        load: &Load,
        limits: Limits,
        memory: f64,
    ) -> Box<dyn Policy> {
        let mut wants_model = readers(SettingKey::Model).chain([IDEAL]);
        let model = wants_model.any(|name| name == self.name).then(|| fitted(setting));
        let default = PolicySettings::default();
        let settings = PolicySettings {
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

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_a_policy_does_not_read_it_is_not_told() {
        let mut told = String::new();
        for text in ["tofec(2,1)", "fixed(2,1)@5ms", "hedge-p95(2,1)@5ms", "hedge@1e9ms", "fixt"] {
            let read = text.parse::<PolicyChoice>().map(|choice| choice.to_string());
            told += &read.unwrap_or_else(|error| error.to_string());
            told.push('\n');
        }
        // Of what is registered, by what it is: another policy changes nothing here.
        let joined = |names: &[&str]| names.join(", ");
        let those = |key| joined(&readers(key).collect::<Vec<_>>());
        told = told.replace(&joined(&ripstop_policy::names().collect::<Vec<_>>()), "ALL");
        told = told.replace(&those(SettingKey::Code), "THOSE WITH A CODE");
        told = told.replace(&those(SettingKey::HedgeAfter), "THOSE THAT HEDGE");
        expect![[r#"
            "tofec(2,1)": tofec takes no (n,k); THOSE WITH A CODE do
            "fixed(2,1)@5ms": fixed takes no @ and milliseconds; THOSE THAT HEDGE do
            hedge-p95(2,1)@5ms
            "hedge@1e9ms" is not a policy: after the name comes (n,k) with 1 ≤ k ≤ n ≤ 255, then @ and milliseconds, as in hedge(2,1)@100ms
            no policy is named "fixt"; there are: ALL; or ideal
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn codes_that_a_pool_has_not_are_refused() {
        let storage = Code::new(24, 12).unwrap();
        let check =
            |text: &str, layout| text.parse::<PolicyChoice>().unwrap().check(storage, layout);
        for possible in ["fixed(2,1)", "hedge(24,12)", "fixed(12,12)", "tofec"] {
            assert_eq!(check(possible, Layout::Unique), Ok(()), "{possible}");
        }
        for impossible in ["fixed(5,5)", "fixed(3,1)", "hedge(25,12)", "fixed-dimension(24,24)"] {
            assert!(check(impossible, Layout::Shared).is_err(), "{impossible}");
        }
        assert_eq!(check("fixed(13,12)", Layout::Spread), Ok(()));
        expect![[
            "fixed(2,1): the code (n,k) is not possible; of the storage code (24,12), where strips are spread, k is 12, and n is at most 24"
        ]]
        .assert_eq(&check("fixed(2,1)", Layout::Spread).unwrap_err().to_string());
    }
}
