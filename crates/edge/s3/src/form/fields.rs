use crate::{
    auth,
    error::{Code, Failure, Outcome},
    uri,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// What stands in values for the name of the file.
const FILENAME: &str = "${filename}";
/// Longest name of a file that is put in its place: a key is no longer.
const FILENAME_LEN_MAX: usize = uri::KEY_LEN_MAX;
/// Fields that say of the object what headers of that name say of one that is put.
const HEADERS: [&str; 7] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-md5",
    "content-type",
    "expires",
];
/// Fields that are a signature's and say nothing of the object.
const SIGNATURE: [&str; 5] = [
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-signature",
    "x-amz-security-token",
];
/// Fields that no condition needs to speak of.
const UNCOVERED: [&str; 4] = ["policy", "x-amz-signature", "awsaccesskeyid", "signature"];

/// The fields of a form, by their names in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

/// How the sender of a form wants to be answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wish {
    /// Where to go.
    pub(crate) redirect: Option<String>,
    /// The status.
    pub(crate) status: Option<String>,
    /// Tags of the object, as a document.
    pub(crate) tagging: Option<String>,
}

impl Fields {
    /// As they came, the file's name put where it is wanted: what follows the last slash of a path,
    /// of whichever kind.
    pub(crate) fn new(fields: Vec<(String, String)>, filename: &str) -> Outcome<Self> {
        let filename = filename.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut fields = fields;
        let wanted = |(_, value): &&mut (String, String)| value.contains(FILENAME);
        for (name, value) in fields.iter_mut().filter(wanted) {
            let times = value.matches(FILENAME).count();
            if times * filename.len() > FILENAME_LEN_MAX {
                let message = "The name of the file is too long for this field.";
                return Err(Failure::argument(message, name, filename));
            }
            *value = value.replace(FILENAME, filename);
        }
        Ok(Self(fields))
    }

    /// The value of the field of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Names of fields that a policy must speak of.
    pub(super) fn to_cover(&self) -> impl Iterator<Item = &str> {
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !UNCOVERED.contains(name) && !name.starts_with("x-ignore-"))
    }

    /// The key that the object is to have.
    pub(crate) fn key(&self) -> Outcome<&str> {
        let key = self.get("key").filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| auth::missing_field("key"))?;
        uri::check_key(key)?;
        uri::check_path(key)?;
        Ok(key)
    }

    /// How the sender wants to be answered.
    pub(crate) fn wish(&self) -> Wish {
        let filled = |name| self.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
        Wish {
            redirect: filled("success_action_redirect").or_else(|| filled("redirect")),
            status: filled("success_action_status"),
            tagging: filled("tagging"),
        }
    }

    /// What the fields say of the object, as headers of a `PUT` would.
    pub(crate) fn headers(&self) -> Outcome<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.0 {
            let is_of_object = name.starts_with("x-amz-") && !SIGNATURE.contains(&name.as_str());
            let header = match name.as_str() {
                "acl" => "x-amz-acl",
                name if is_of_object || HEADERS.contains(&name) => name,
                _ => continue,
            };
            let parsed = HeaderName::from_bytes(header.as_bytes()).ok();
            let parsed = parsed.zip(HeaderValue::from_bytes(value.as_bytes()).ok());
            let Some((header, text)) = parsed else {
                let failure = Failure::from(Code::InvalidArgument);
                return Err(failure.with("ArgumentName", name).with("ArgumentValue", value));
            };
            headers.insert(header, text);
        }
        Ok(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)], filename: &str) -> Outcome<Fields> {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Fields::new(pairs.collect(), filename)
    }

    #[test]
    fn the_files_name_is_what_follows_the_last_slash() {
        for (filename, key) in [
            ("a.txt", "user/a.txt-a.txt"),
            ("/tmp/a.txt", "user/a.txt-a.txt"),
            ("C:\\d\\a.txt", "user/a.txt-a.txt"),
            ("", "user/-"),
        ] {
            let read = fields(&[("key", "user/${filename}-${filename}")], filename).unwrap();
            assert_eq!(read.key().unwrap(), key);
        }
        let long = "x".repeat(600);
        let failure = fields(&[("key", "${filename}${filename}")], &long).unwrap_err();
        assert_eq!(failure.code, Code::InvalidArgument);
    }

    #[test]
    fn keys_are_those_that_a_put_may_have() {
        let long = "k".repeat(1025);
        for (key, code) in [
            ("", Code::InvalidArgument),
            ("../etc", Code::InvalidUri),
            (long.as_str(), Code::KeyTooLong),
        ] {
            assert_eq!(fields(&[("key", key)], "").unwrap().key().unwrap_err().code, code);
        }
        assert_eq!(fields(&[], "").unwrap().key().unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn fields_say_of_an_object_what_headers_would() {
        let read = fields(
            &[
                ("key", "k"),
                ("acl", "private"),
                ("content-type", "text/plain"),
                ("x-amz-meta-a", "\u{e9}"),
                ("x-amz-date", "now"),
                ("x-ignore-this", "x"),
                ("if-match", "x"),
            ],
            "",
        );
        let headers = read.unwrap().headers().unwrap();
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-amz-acl", "x-amz-meta-a"]);
        for bad in [("x-amz-meta-a", "a\r\nb"), ("x-amz-meta- b", "x")] {
            let failure = fields(&[bad], "").unwrap().headers().unwrap_err();
            assert_eq!(failure.code, Code::InvalidArgument);
        }
    }
}
