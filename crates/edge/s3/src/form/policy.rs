//! The policy of a form: until when it may be sent, and what its fields may say.

use super::Fields;
use crate::{
    date,
    error::{Code, Failure, Outcome},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// A policy that was read, and not held against anything.
#[derive(Debug)]
pub(crate) struct Policy {
    until_s: i64,
    conditions: Vec<Condition>,
}

/// What must hold of a field, or of the file's length.
#[derive(Debug)]
struct Condition {
    test: Test,
    /// As failures show it.
    shown: String,
}

#[derive(Debug)]
enum Test {
    /// The field of that name, in lower case, has this value.
    Equals(String, String),
    /// It begins so.
    StartsWith(String, String),
    /// Of a field that cannot be named so: it holds of none.
    Misnamed,
    /// The file has this many bytes at least, and this many at most.
    Length(u64, u64),
}

fn invalid(message: impl AsRef<str>) -> Failure {
    let message = format!("Invalid Policy: {}", message.as_ref());
    Failure::new(Code::InvalidPolicyDocument, message)
}

fn no_json() -> Failure {
    invalid("Invalid JSON.")
}

fn denied(message: impl AsRef<str>) -> Failure {
    let message = format!("Invalid according to Policy: {}", message.as_ref());
    Failure::new(Code::AccessDenied, message)
}

impl Policy {
    /// Reads a policy as it is in a form: JSON in base64.
    pub(crate) fn read(text: &str) -> Outcome<Self> {
        let text: String = text.split_ascii_whitespace().collect();
        let json = STANDARD.decode(text).map_err(|_| invalid("invalid Base64 encoding."))?;
        if json.trim_ascii().is_empty() {
            return Err(invalid("Expecting '{' but found End-of-Input"));
        }
        let Ok(Value::Object(policy)) = serde_json::from_slice(&json) else {
            return Err(no_json());
        };
        let is_known = |name: &str| matches!(name, "expiration" | "conditions");
        if let Some(name) = policy.keys().find(|name| !is_known(name)) {
            return Err(invalid(format!("Unexpected: \"{name}\"")));
        }
        let until_s = match policy.get("expiration") {
            None => return Err(invalid("Policy missing expiration.")),
            Some(Value::String(text)) => date::parse_document(text)
                .ok_or_else(|| invalid(format!("Invalid 'expiration' value: '{text}'")))?,
            Some(_) => return Err(no_json()),
        };
        let conditions = match policy.get("conditions") {
            None => return Err(invalid("Policy missing conditions.")),
            Some(Value::Array(conditions)) => conditions,
            Some(_) => {
                return Err(invalid("Invalid 'conditions' value: must be a List."));
            }
        };
        let conditions = conditions.iter().map(Condition::read).collect::<Outcome<_>>()?;
        Ok(Self { until_s, conditions })
    }

    /// Holds a form's fields against it, at `now_s` (seconds since 1970); answers how many bytes
    /// the file may have at least and at most.
    pub(crate) fn check(&self, fields: &Fields, bucket: &str, now_s: i64) -> Outcome<(u64, u64)> {
        if now_s >= self.until_s {
            return Err(denied("Policy expired."));
        }
        let value = |name: &str| if name == "bucket" { Some(bucket) } else { fields.get(name) };
        let (mut least, mut most) = (0, u64::MAX);
        for condition in &self.conditions {
            let holds = match &condition.test {
                Test::Equals(name, wanted) => value(name) == Some(wanted),
                Test::StartsWith(name, start) => {
                    value(name).is_some_and(|value| starts_with(name, value, start))
                }
                Test::Misnamed => false,
                Test::Length(from, to) => {
                    (least, most) = (least.max(*from), most.min(*to));
                    true
                }
            };
            if !holds {
                return Err(denied(format!("Policy Condition failed: {}", condition.shown)));
            }
        }
        let is_covered = |name: &str| self.conditions.iter().any(|it| it.name() == Some(name));
        match fields.to_cover().chain(["bucket"]).find(|name| !is_covered(name)) {
            Some(name) => Err(denied(format!("Extra input fields: {name}"))),
            None => Ok((least, most)),
        }
    }
}

/// Whether a value begins so: of several types of content, each.
fn starts_with(name: &str, value: &str, start: &str) -> bool {
    if name == "content-type" {
        value.split(',').all(|part| part.trim().starts_with(start))
    } else {
        value.starts_with(start)
    }
}

impl Condition {
    fn read(value: &Value) -> Outcome<Self> {
        match value {
            Value::Object(simple) => Self::simple(simple),
            Value::Array(list) => Self::list(list, value.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(invalid("Invalid condition test: must be a List or Object."))
            }
        }
    }

    fn simple(simple: &Map<String, Value>) -> Outcome<Self> {
        let mut members = simple.iter();
        let (Some((name, value)), None) = (members.next(), members.next()) else {
            return Err(invalid(
                "Invalid Simple-Condition: Simple-Conditions must have exactly one property \
                 specified.",
            ));
        };
        let Value::String(value) = value else {
            return Err(invalid("Invalid Simple-Condition: value must be a string."));
        };
        let shown =
            format!("[\"eq\", {}, {}]", Value::from(format!("${name}")), Value::from(&**value));
        Ok(Self { test: Test::Equals(name.to_ascii_lowercase(), value.clone()), shown })
    }

    fn list(list: &[Value], shown: String) -> Outcome<Self> {
        let Some((operation, rest)) = list.split_first() else {
            return Err(invalid("Invalid Condition: missing operation identifier."));
        };
        let Value::String(operation) = operation else { return Err(no_json()) };
        let kind = operation.to_ascii_lowercase();
        if !matches!(kind.as_str(), "eq" | "starts-with" | "content-length-range") {
            let message = format!("Invalid Condition: unknown operation '{operation}'.");
            return Err(invalid(message));
        }
        let [one, other] = rest else {
            return Err(invalid(format!("Invalid {operation}: wrong number of arguments.")));
        };
        if kind == "content-length-range" {
            let test = Test::Length(length(one)?, length(other)?);
            return Ok(Self { test, shown });
        }
        let (Value::String(name), Value::String(text)) = (one, other) else {
            return Err(no_json());
        };
        let test = match name.strip_prefix('$').map(str::to_ascii_lowercase) {
            None => Test::Misnamed,
            Some(name) if kind == "eq" => Test::Equals(name, text.clone()),
            Some(name) => Test::StartsWith(name, text.clone()),
        };
        Ok(Self { test, shown })
    }

    /// The field that it speaks of.
    fn name(&self) -> Option<&str> {
        match &self.test {
            Test::Equals(name, _) | Test::StartsWith(name, _) => Some(name),
            Test::Misnamed | Test::Length(..) => None,
        }
    }
}

/// A number of bytes; some write it as a text.
fn length(value: &Value) -> Outcome<u64> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or_else(no_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: i64 = 1_760_000_000;

    fn read(json: &str) -> Outcome<Policy> {
        Policy::read(&STANDARD.encode(json))
    }

    fn check(conditions: &str, pairs: &[(&str, &str)]) -> Outcome<(u64, u64)> {
        let json = format!(
            "{{\"expiration\": \"2030-01-01T00:00:00.000Z\", \"conditions\": {conditions}}}"
        );
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        read(&json)?.check(&Fields::new(pairs.collect(), "")?, "bkt", NOW_S)
    }

    #[test]
    fn policies_that_cannot_be_read_are_refused_in_s3_s_words() {
        let with = |conditions: &str| {
            format!("{{\"expiration\": \"2030-01-01T00:00:00Z\", \"conditions\": {conditions}}}")
        };
        for (json, message) in [
            (String::new(), "Expecting '{' but found End-of-Input"),
            ("{".to_owned(), "Invalid JSON."),
            ("[]".to_owned(), "Invalid JSON."),
            ("{\"conditions\": []}".to_owned(), "Policy missing expiration."),
            ("{\"EXPIRATION\": \"x\"}".to_owned(), "Unexpected: \"EXPIRATION\""),
            ("{\"expiration\": true, \"conditions\": []}".to_owned(), "Invalid JSON."),
            (
                "{\"expiration\": \"2030-01-01 00:00:00+00:00\", \"conditions\": []}".to_owned(),
                "Invalid 'expiration' value: '2030-01-01 00:00:00+00:00'",
            ),
            ("{\"expiration\": \"2030-01-01T00:00:00Z\"}".to_owned(), "Policy missing conditions."),
            (with("true"), "Invalid 'conditions' value: must be a List."),
            (with("[true]"), "Invalid condition test: must be a List or Object."),
            (with("[[]]"), "Invalid Condition: missing operation identifier."),
            (with("[[\"is\", \"$a\", \"b\"]]"), "Invalid Condition: unknown operation 'is'."),
            (with("[[\"eq\", \"$a\", \"b\", \"c\"]]"), "Invalid eq: wrong number of arguments."),
            (
                with("[[\"content-length-range\", 0]]"),
                "Invalid content-length-range: wrong number of arguments.",
            ),
            (with("[[\"content-length-range\", -1, 0]]"), "Invalid JSON."),
            (with("[[\"eq\", false, \"b\"]]"), "Invalid JSON."),
            (
                with("[{}]"),
                "Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.",
            ),
            (
                with("[{\"a\": \"b\", \"c\": \"d\"}]"),
                "Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.",
            ),
            (with("[{\"a\": 1}]"), "Invalid Simple-Condition: value must be a string."),
        ] {
            let failure = read(&json).unwrap_err();
            let told = (failure.code, failure.message.strip_prefix("Invalid Policy: "));
            assert_eq!(told, (Code::InvalidPolicyDocument, Some(message)), "{json}");
        }
        let failure = Policy::read("no_base64").unwrap_err();
        assert_eq!(failure.message, "Invalid Policy: invalid Base64 encoding.");
    }

    #[test]
    fn every_field_must_be_as_a_condition_says_and_each_condition_must_hold() {
        let b = "{\"bucket\": \"bkt\"}";
        let key = ("key", "foo.txt");
        for (conditions, pairs, message) in [
            (format!("[{b}, [\"StArTs-WiTh\", \"$KeY\", \"foo\"]]"), vec![key], None),
            (format!("[{b}, {{\"kEy\": \"foo.txt\"}}]"), vec![key, ("x-ignore-a", "b")], None),
            (
                format!("[{b}, [\"eq\", \"$key\", \"foo.txt\"]]"),
                vec![key, ("policy", "p"), ("awsaccesskeyid", "a"), ("signature", "s")],
                None,
            ),
            (
                format!(
                    "[{b}, [\"starts-with\", \"$key\", \"\"], [\"starts-with\", \"$Content-Type\", \"text/\"]]"
                ),
                vec![key, ("content-type", "text/plain, text/html")],
                None,
            ),
            (
                format!(
                    "[{b}, [\"starts-with\", \"$key\", \"\"], [\"starts-with\", \"$Content-Type\", \"text/\"]]"
                ),
                vec![key, ("content-type", "text/plain, image/png")],
                Some("Policy Condition failed: [\"starts-with\",\"$Content-Type\",\"text/\"]"),
            ),
            (
                format!("[{b}, {{\"key\": \"bar\"}}]"),
                vec![key],
                Some("Policy Condition failed: [\"eq\", \"$key\", \"bar\"]"),
            ),
            (
                "[{\"bucket\": \"other\"}]".to_owned(),
                vec![("bucket", "other")],
                Some("Policy Condition failed: [\"eq\", \"$bucket\", \"other\"]"),
            ),
            (
                format!("[{b}, [\"eq\", \"key\", \"foo.txt\"]]"),
                vec![key],
                Some("Policy Condition failed: [\"eq\",\"key\",\"foo.txt\"]"),
            ),
            (
                format!(
                    "[{b}, {{\"key\": \"foo.txt\"}}, [\"starts-with\", \"$x-amz-meta-a\", \"\"]]"
                ),
                vec![key],
                Some("Policy Condition failed: [\"starts-with\",\"$x-amz-meta-a\",\"\"]"),
            ),
            (format!("[{b}]"), vec![key], Some("Extra input fields: key")),
            ("[{\"key\": \"foo.txt\"}]".to_owned(), vec![key], Some("Extra input fields: bucket")),
        ] {
            let told = check(&conditions, &pairs).map(drop);
            let told = told.map_err(|failure| (failure.code, failure.message.into_owned()));
            let expected = message.map_or(Ok(()), |message| {
                Err((Code::AccessDenied, format!("Invalid according to Policy: {message}")))
            });
            assert_eq!(told, expected, "{conditions}");
        }
    }

    #[test]
    fn ranges_are_kept_all_and_policies_end() {
        let ranges = "[{\"bucket\": \"bkt\"}, [\"content-length-range\", 1, 10], [\"content-length-range\", \"0\", \"8\"]]";
        assert_eq!(check(ranges, &[]).unwrap(), (1, 8));
        let policy = read(
            "{\"expiration\": \"2025-10-09T08:53:20Z\", \"conditions\": [{\"bucket\": \"bkt\"}]}",
        );
        let policy = policy.unwrap();
        assert!(policy.check(&Fields::default(), "bkt", NOW_S - 1).is_ok());
        let ended = policy.check(&Fields::default(), "bkt", NOW_S).unwrap_err();
        assert_eq!(ended.message, "Invalid according to Policy: Policy expired.");
    }
}
