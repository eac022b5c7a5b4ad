//! Conditions of a statement: operators, keys, values.

use crate::action::ActionSet;
use crate::compare::{Kind, Order, Range, Wanted};
use crate::fact::{Fact, Facts, all_have};
use crate::fault::PolicyFault;
use crate::json::Json;
use alloc::string::String;
use alloc::vec::Vec;

/// How a fact with several values is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantifier {
    /// One value, as most facts have.
    Plain,
    /// `ForAllValues:`.
    All,
    /// `ForAnyValue:`.
    Any,
}

/// One key under one operator.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Test {
    fact: Fact,
    quantifier: Quantifier,
    /// `…IfExists`: holds of what is not there.
    if_exists: bool,
    asks: Asks,
}

#[derive(Clone, PartialEq, Debug)]
enum Asks {
    /// Whether the fact is absent.
    Absence(bool),
    /// Whether its value is one of these, or with `negated` none of these.
    Values { wanted: Vec<Wanted>, negated: bool },
}

/// Operators by name, without what may stand before and behind.
fn operator(name: &str) -> Option<(Kind, bool)> {
    use Order::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    Some(match name {
        "StringEquals" | "BinaryEquals" => (Kind::Text, false),
        "StringNotEquals" => (Kind::Text, true),
        "StringEqualsIgnoreCase" => (Kind::TextIgnoringCase, false),
        "StringNotEqualsIgnoreCase" => (Kind::TextIgnoringCase, true),
        "StringLike" => (Kind::TextLike, false),
        "StringNotLike" => (Kind::TextLike, true),
        "NumericEquals" => (Kind::Number(Equal), false),
        "NumericNotEquals" => (Kind::Number(Equal), true),
        "NumericLessThan" => (Kind::Number(Less), false),
        "NumericLessThanEquals" => (Kind::Number(LessOrEqual), false),
        "NumericGreaterThan" => (Kind::Number(Greater), false),
        "NumericGreaterThanEquals" => (Kind::Number(GreaterOrEqual), false),
        "DateEquals" => (Kind::Instant(Equal), false),
        "DateNotEquals" => (Kind::Instant(Equal), true),
        "DateLessThan" => (Kind::Instant(Less), false),
        "DateLessThanEquals" => (Kind::Instant(LessOrEqual), false),
        "DateGreaterThan" => (Kind::Instant(Greater), false),
        "DateGreaterThanEquals" => (Kind::Instant(GreaterOrEqual), false),
        "Bool" => (Kind::Truth, false),
        "IpAddress" => (Kind::Address, false),
        "NotIpAddress" => (Kind::Address, true),
        "ArnEquals" | "ArnLike" => (Kind::Arn, false),
        "ArnNotEquals" | "ArnNotLike" => (Kind::Arn, true),
        _ => return None,
    })
}

/// Reads the conditions of a statement about these actions, named one by one.
pub(crate) fn read(
    block: &Json,
    actions: ActionSet,
    variables: bool,
) -> Result<Vec<Test>, PolicyFault> {
    let Json::Object(operators) = block else { return Err(PolicyFault::InvalidJson) };
    let mut tests = Vec::new();
    for (operator, keys) in operators {
        let Json::Object(keys) = keys else { return Err(PolicyFault::InvalidJson) };
        for (key, values) in keys {
            let values = values.texts().ok_or(PolicyFault::InvalidJson)?;
            tests.push(Test::read(operator, key, &values, variables)?);
            if !all_have(&key.to_ascii_lowercase(), actions) {
                return Err(PolicyFault::KeyAction);
            }
        }
        // Also of an operator without keys.
        Written::read(operator)?;
    }
    Ok(tests)
}

/// An operator as it is written.
struct Written {
    quantifier: Quantifier,
    if_exists: bool,
    /// None is `Null`.
    compares: Option<(Kind, bool)>,
}

impl Written {
    fn read(written: &str) -> Result<Self, PolicyFault> {
        let (quantifier, name) = match written.split_once(':') {
            Some(("ForAllValues", name)) => (Quantifier::All, name),
            Some(("ForAnyValue", name)) => (Quantifier::Any, name),
            Some(_) => return Err(PolicyFault::Operator(written.into())),
            None => (Quantifier::Plain, written),
        };
        if name == "Null" {
            return Ok(Self { quantifier, if_exists: false, compares: None });
        }
        let (name, if_exists) = match name.strip_suffix("IfExists") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let compares = operator(name).ok_or_else(|| PolicyFault::Operator(written.into()))?;
        Ok(Self { quantifier, if_exists, compares: Some(compares) })
    }
}

impl Test {
    fn read(
        operator: &str,
        key: &str,
        values: &[String],
        variables: bool,
    ) -> Result<Self, PolicyFault> {
        let Written { quantifier, if_exists, compares } = Written::read(operator)?;
        let fact = Fact::named(key).ok_or(PolicyFault::Key)?;
        // S3 looks at the address whatever it is held against.
        if fact == Fact::SourceIp && values.iter().any(|value| Range::read(value).is_none()) {
            return Err(PolicyFault::Address);
        }
        let wrong = || match compares {
            Some((Kind::Address, _)) => PolicyFault::Address,
            _ => PolicyFault::Value(operator.into()),
        };
        let asks = match compares {
            None => {
                let [value] = values else { return Err(wrong()) };
                let truth = Wanted::read(Kind::Truth, value, false).ok_or_else(wrong)?;
                Asks::Absence(truth == Wanted::Truth(true))
            }
            Some((kind, negated)) => {
                let wanted = values.iter().map(|value| Wanted::read(kind, value, variables));
                let wanted = wanted.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
                Asks::Values { wanted, negated }
            }
        };
        Ok(Self { fact, quantifier, if_exists, asks })
    }

    /// Whether it holds of a request.
    pub(crate) fn holds(&self, facts: &dyn Facts) -> bool {
        let (wanted, negated) = match &self.asks {
            Asks::Absence(wanted) => return self.is_absent(facts) == *wanted,
            Asks::Values { wanted, negated } => (wanted, *negated),
        };
        let resolve = |key: &str| Fact::named(key)?.only(facts);
        let (mut count, mut met) = (0_usize, 0_usize);
        facts.values(&self.fact, &mut |value| {
            count += 1;
            let is_one = wanted.iter().any(|wanted| wanted.is_met(value, &resolve));
            met += usize::from(is_one != negated);
        });
        match (self.quantifier, negated) {
            (Quantifier::Plain, _) if count == 0 => self.if_exists || negated,
            (Quantifier::Any, _) if count == 0 => self.if_exists,
            // Of several values of a fact that is asked as if it had one, none may be one that is
            // denied.
            (Quantifier::All, _) | (Quantifier::Plain, true) => met == count,
            (Quantifier::Any, _) | (Quantifier::Plain, false) => met > 0,
        }
    }

    fn is_absent(&self, facts: &dyn Facts) -> bool {
        let mut count = 0;
        facts.values(&self.fact, &mut |_| count += 1);
        count == 0
    }

    /// Whether it asks for the tags of the object that is there.
    pub(crate) fn needs_object(&self) -> bool {
        matches!(self.fact, Fact::ExistingObjectTag(_))
    }

    /// Whether only requests from places or of somebody that are fixed meet it, so that who is
    /// allowed by it is not the public.
    pub(crate) fn narrows(&self) -> bool {
        let names_somebody = matches!(
            self.fact,
            Fact::SourceIp
                | Fact::PrincipalArn
                | Fact::PrincipalAccount
                | Fact::UserId
                | Fact::Username
                | Fact::Never
        );
        match &self.asks {
            Asks::Values { wanted, negated: false } => {
                let certain = self.quantifier == Quantifier::Plain && !self.if_exists;
                names_somebody && certain && wanted.iter().all(Wanted::is_fixed)
            }
            Asks::Values { .. } | Asks::Absence(_) => false,
        }
    }
}
