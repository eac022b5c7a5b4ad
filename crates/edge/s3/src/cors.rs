//! Which pages of other origins a bucket lets in: the rules of its document `cors`, and what
//! browsers are told by them.

use crate::{
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node},
};
use http::{HeaderMap, HeaderValue, Method, header};

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "cors";
/// Methods that another origin may be let use.
pub(crate) const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "HEAD"];
/// How much a document may be: a hundred rules, each with some dozens of names.
pub(crate) const LIMITS: Limits = Limits { bytes: 64 << 10, depth: 8, elements: 4096 };
/// Most rules of a bucket.
const RULES_MAX: usize = 100;
/// Longest name of a rule, in characters.
const ID_LEN_MAX: usize = 255;
/// How much of a stored document is read: what was taken, each character spelled as a reference.
const STORED: Limits = Limits { bytes: 1 << 20, ..LIMITS };
/// What answers depend on where a bucket has rules.
const VARY: &str = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method";

/// A bucket's rules, in their order: the first that fits a request is the one that counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Rule {
    id: Option<String>,
    origins: Vec<String>,
    methods: Vec<String>,
    headers: Vec<String>,
    exposed: Vec<String>,
    max_age_s: Option<i32>,
}

/// What the page of another origin wants to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Crossing {
    pub(crate) origin: String,
    pub(crate) method: String,
    /// Names of headers that it wants to send, lower case.
    pub(crate) headers: Vec<String>,
}

/// What a browser is told of a request that is let in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Admission {
    origin: String,
    /// Any origin is let in, and so nobody's cookies are.
    is_any: bool,
    methods: String,
    headers: String,
    exposed: String,
    max_age_s: Option<i32>,
}

fn invalid(message: String) -> Failure {
    Failure::new(Code::InvalidRequest, message)
}

impl Rules {
    /// Reads a `CORSConfiguration` as its sender means it to be kept.
    pub(crate) fn from_root(root: &Node<'_>) -> Outcome<Self> {
        let rules = Self::read(root)?;
        if rules.0.is_empty() {
            return Err(Malformed.into());
        }
        if rules.0.len() > RULES_MAX {
            let message = "The number of CORS rules should not exceed allowed limit of 100 rules.";
            return Err(invalid(message.to_owned()));
        }
        rules.0.iter().try_for_each(Rule::check)?;
        Ok(rules)
    }

    fn read(root: &Node<'_>) -> Result<Self, Malformed> {
        let rules = root.named("CORSConfiguration")?.all("CORSRule").take(RULES_MAX + 1);
        rules.map(Rule::read).collect::<Result<_, _>>().map(Self)
    }

    /// Reads the document of a bucket. One that cannot be read lets nobody in.
    pub(crate) fn stored(document: &str) -> Self {
        let root = xml::parse(document.as_bytes(), STORED);
        root.and_then(|root| Self::read(&root)).unwrap_or_else(|_| {
            tracing::error!("a bucket's CORS document cannot be read");
            Self::default()
        })
    }

    /// As a document, for the bucket and for who asks.
    pub(crate) fn document(&self) -> String {
        let mut root = Element::in_namespace("CORSConfiguration");
        for rule in &self.0 {
            root.child("CORSRule", |to| rule.write(to));
        }
        root.document()
    }

    /// What a browser is told of a request, if it is let in.
    pub(crate) fn admit(&self, crossing: &Crossing) -> Option<Admission> {
        self.0.iter().find_map(|rule| rule.admit(crossing))
    }
}

impl Rule {
    fn read(node: &Node<'_>) -> Result<Self, Malformed> {
        let texts =
            |name| -> Result<Vec<String>, Malformed> {
                node.all(name)
                    .map(|it| {
                        if it.children.is_empty() {
                            Ok(it.text.to_string())
                        } else {
                            Err(Malformed)
                        }
                    })
                    .collect()
            };
        let max_age_s = match node.text_of("MaxAgeSeconds")? {
            Some(text) => Some(text.trim().parse().map_err(|_| Malformed)?),
            None => None,
        };
        let rule = Self {
            id: node.text_of("ID")?.map(str::to_owned),
            origins: texts("AllowedOrigin")?,
            methods: texts("AllowedMethod")?,
            headers: texts("AllowedHeader")?,
            exposed: texts("ExposeHeader")?,
            max_age_s,
        };
        let is_whole = !rule.origins.is_empty() && !rule.methods.is_empty();
        if is_whole { Ok(rule) } else { Err(Malformed) }
    }

    fn check(&self) -> Outcome<()> {
        if self.id.as_ref().is_some_and(|id| id.chars().count() > ID_LEN_MAX) {
            let message = format!("The ID of a CORS rule may have {ID_LEN_MAX} characters.");
            return Err(invalid(message));
        }
        let again = |text: &&String| text.matches('*').nth(1).is_some();
        if let Some(origin) = self.origins.iter().find(again) {
            let message =
                format!("AllowedOrigin \"{origin}\" can not have more than one wildcard.");
            return Err(invalid(message));
        }
        if let Some(method) = self.methods.iter().find(|it| !METHODS.contains(&it.as_str())) {
            return Err(invalid(format!(
                "Found unsupported HTTP method in CORS config. Unsupported method is {method}"
            )));
        }
        if let Some(name) = self.headers.iter().find(again) {
            let message = format!("AllowedHeader \"{name}\" can not have more than one wildcard.");
            return Err(invalid(message));
        }
        if let Some(name) = self.exposed.iter().find(|name| name.contains('*')) {
            return Err(invalid(format!(
                "ExposeHeader \"{name}\" contains wildcard. We currently do not support wildcard \
                 for ExposeHeader."
            )));
        }
        match self.headers.iter().chain(&self.exposed).find(|name| !is_name(name)) {
            Some(name) => {
                Err(invalid(format!("AllowedHeader \"{name}\" contains invalid character.")))
            }
            None => Ok(()),
        }
    }

    fn write(&self, to: &mut Element) {
        to.optional("ID", self.id.as_deref());
        for (name, texts) in [
            ("AllowedOrigin", &self.origins),
            ("AllowedMethod", &self.methods),
            ("AllowedHeader", &self.headers),
            ("ExposeHeader", &self.exposed),
        ] {
            for text in texts {
                to.text(name, text);
            }
        }
        if let Some(seconds) = self.max_age_s {
            to.value("MaxAgeSeconds", seconds);
        }
    }

    fn admit(&self, crossing: &Crossing) -> Option<Admission> {
        let Crossing { origin, method, headers } = crossing;
        let pattern = self.origins.iter().find(|pattern| fits(pattern, origin))?;
        let is_allowed = |name: &String| {
            self.headers.iter().any(|pattern| fits(&pattern.to_ascii_lowercase(), name))
        };
        if !self.methods.contains(method) || !headers.iter().all(is_allowed) {
            return None;
        }
        Some(Admission {
            origin: origin.clone(),
            is_any: pattern == "*",
            methods: self.methods.join(", "),
            headers: headers.join(", "),
            exposed: self.exposed.join(", "),
            max_age_s: self.max_age_s,
        })
    }
}

/// Whether a text is what a pattern says, in which a `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            let rest = text.strip_prefix(start);
            rest.is_some_and(|rest| rest.len() >= end.len() && rest.ends_with(end))
        }
    }
}

/// Whether a header may have that name, or one of a pattern's names.
fn is_name(text: &str) -> bool {
    let in_names = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(in_names)
}

/// The names in a request's `Access-Control-Request-Headers`, of which there may be more than one,
/// lower case.
pub(crate) fn requested(headers: &HeaderMap) -> Outcome<Vec<String>> {
    let lines = headers.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let lines: Vec<_> = lines.map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
    names(&lines.join(","))
}

fn names(text: &str) -> Outcome<Vec<String>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let name = |part: &str| match part.trim() {
        name if is_name(name) => Ok(name.to_ascii_lowercase()),
        _ => {
            let message =
                format!("Access-Control-Request-Headers \"{part}\" contains invalid character.");
            Err(Failure::new(Code::BadRequest, message))
        }
    };
    text.split(',').map(name).collect()
}

impl Crossing {
    /// What a request was sent for from a page of another origin, if it was. What a browser asked
    /// before may be said in it again, and counts then.
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Option<Self> {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let origin = text(header::ORIGIN).filter(|origin| !origin.is_empty())?.to_owned();
        if *method == Method::OPTIONS {
            return None;
        }
        let asked = text(header::ACCESS_CONTROL_REQUEST_METHOD);
        let method = asked.unwrap_or(method.as_str()).to_owned();
        Some(Self { origin, method, headers: requested(headers).ok()? })
    }
}

impl Admission {
    /// Says so in an answer.
    pub(crate) fn tell(&self, to: &mut HeaderMap) {
        let mut put = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value)
                && !value.is_empty()
            {
                to.insert(name, value);
            }
        };
        if self.is_any {
            put(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        } else {
            put(header::ACCESS_CONTROL_ALLOW_ORIGIN, &self.origin);
            put(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
        }
        put(header::ACCESS_CONTROL_ALLOW_METHODS, &self.methods);
        put(header::ACCESS_CONTROL_ALLOW_HEADERS, &self.headers);
        put(header::ACCESS_CONTROL_EXPOSE_HEADERS, &self.exposed);
        if let Some(seconds) = self.max_age_s {
            put(header::ACCESS_CONTROL_MAX_AGE, &seconds.to_string());
        }
        put(header::VARY, VARY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(document: &str) -> Outcome<Rules> {
        Rules::from_root(&xml::parse(document.as_bytes(), LIMITS)?)
    }

    fn of(rule: &str) -> Outcome<Rules> {
        rules(&format!("<CORSConfiguration><CORSRule>{rule}</CORSRule></CORSConfiguration>"))
    }

    #[test]
    fn a_document_comes_back_with_all_its_fields() {
        let rule = "<ID>one &amp; two</ID><AllowedOrigin>https://*.example.com</AllowedOrigin>\
            <AllowedOrigin>x</AllowedOrigin><AllowedMethod>GET</AllowedMethod>\
            <AllowedMethod>PUT</AllowedMethod><AllowedHeader>x-amz-*</AllowedHeader>\
            <ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>-100</MaxAgeSeconds>";
        let read = of(rule).unwrap();
        let document = read.document();
        assert!(document.contains(&format!("<CORSRule>{rule}</CORSRule>")), "{document}");
        assert_eq!(Rules::stored(&document), read);
        assert_eq!(Rules::stored("<no>"), Rules::default());
    }

    #[test]
    fn what_a_rule_may_not_say_is_refused_in_s3_s_words() {
        let with = |more: &str| {
            of(&format!("<AllowedOrigin>o</AllowedOrigin><AllowedMethod>GET</AllowedMethod>{more}"))
        };
        let id = |len| format!("<ID>{}</ID>", "é".repeat(len));
        assert!(with(&id(255)).is_ok());
        for (more, message) in [
            (id(256).as_str(), "The ID of a CORS rule may have 255 characters."),
            (
                "<AllowedOrigin>*a*</AllowedOrigin>",
                "AllowedOrigin \"*a*\" can not have more than one wildcard.",
            ),
            (
                "<AllowedMethod>get</AllowedMethod>",
                "Found unsupported HTTP method in CORS config. Unsupported method is get",
            ),
            (
                "<AllowedMethod/>",
                "Found unsupported HTTP method in CORS config. Unsupported method is ",
            ),
            (
                "<AllowedHeader>*-*</AllowedHeader>",
                "AllowedHeader \"*-*\" can not have more than one wildcard.",
            ),
            (
                "<AllowedHeader>a b</AllowedHeader>",
                "AllowedHeader \"a b\" contains invalid character.",
            ),
            (
                "<ExposeHeader>a:b</ExposeHeader>",
                "AllowedHeader \"a:b\" contains invalid character.",
            ),
            (
                "<ExposeHeader>*</ExposeHeader>",
                "ExposeHeader \"*\" contains wildcard. We currently do not support wildcard for ExposeHeader.",
            ),
        ] {
            let failure = with(more).unwrap_err();
            assert_eq!((failure.code, &*failure.message), (Code::InvalidRequest, message));
        }
        for malformed in [
            "<CORSConfiguration/>",
            "<CORSConfiguration><CORSRule/></CORSConfiguration>",
            "<CORSRule/>",
        ] {
            assert_eq!(rules(malformed).unwrap_err().code, Code::MalformedXml, "{malformed}");
        }
        for more in [
            "<MaxAgeSeconds>x</MaxAgeSeconds>",
            "<ID/><ID/>",
            "<AllowedOrigin><a/></AllowedOrigin>",
        ] {
            assert_eq!(with(more).unwrap_err().code, Code::MalformedXml, "{more}");
        }
        let many = |count| {
            let rule = "<CORSRule><AllowedOrigin>o</AllowedOrigin>\
                        <AllowedMethod>GET</AllowedMethod></CORSRule>";
            rules(&format!("<CORSConfiguration>{}</CORSConfiguration>", rule.repeat(count)))
        };
        assert!(many(100).is_ok());
        assert_eq!(many(101).unwrap_err().code, Code::InvalidRequest);
    }

    #[test]
    fn patterns_have_one_star_for_anything() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*suffix", "foo.suffix", true),
            ("*suffix", "foo.suffix.get", false),
            ("start*end", "startend", true),
            ("start*end", "start12end", true),
            ("start*end", "0start12end", false),
            ("start*tend", "startend", false),
            ("prefix*", "prefix", true),
            ("prefix*", "bla.prefix", false),
            ("exact", "exact", true),
            ("exact", "Exact", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn names_of_headers_are_tokens() {
        assert_eq!(names("X-Amz-Date, b").unwrap(), ["x-amz-date", "b"]);
        assert_eq!(names("").unwrap(), [""; 0]);
        for (text, part) in [("a,b c", "b c"), ("a, b/c", " b/c"), ("a,,b", ""), ("é", "é")] {
            let failure = names(text).unwrap_err();
            let expected =
                format!("Access-Control-Request-Headers \"{part}\" contains invalid character.");
            assert_eq!((failure.code, &*failure.message), (Code::BadRequest, expected.as_str()));
        }
    }
}
