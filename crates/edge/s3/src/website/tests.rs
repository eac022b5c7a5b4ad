use super::{
    document::{LIMITS, from_root, stored},
    redirect::Step,
};
use crate::{
    error::{Code, Failure, Outcome},
    xml,
};

fn kept(inner: &str) -> Outcome<String> {
    let document = format!("<WebsiteConfiguration>{inner}</WebsiteConfiguration>");
    from_root(&xml::parse(document.as_bytes(), LIMITS)?)
}

const INDEX: &str = "<IndexDocument><Suffix>index.html</Suffix></IndexDocument>";

fn with_rules(rules: &str) -> String {
    format!("{INDEX}<RoutingRules>{rules}</RoutingRules>")
}

fn rule(condition: &str, redirect: &str) -> String {
    let condition = match condition {
        "" => String::new(),
        condition => format!("<Condition>{condition}</Condition>"),
    };
    format!("<RoutingRule>{condition}<Redirect>{redirect}</Redirect></RoutingRule>")
}

#[test]
fn what_a_document_may_not_say_is_refused_in_s3_s_words() {
    let host = "<HostName>example.com</HostName>";
    let elsewhere = format!("<RedirectAllRequestsTo>{host}</RedirectAllRequestsTo>");
    let protocol = "Invalid protocol, protocol can be http or https. If not defined the protocol \
        will be selected automatically.";
    let (malformed, invalid, argument) =
        (Code::MalformedXml, Code::InvalidRequest, Code::InvalidArgument);
    for (inner, expected, message) in [
        (
            String::new(),
            argument,
            "A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty",
        ),
        (INDEX.replace("index.html", ""), argument, "The IndexDocument Suffix is not well formed"),
        (INDEX.replace("index", "/index"), argument, "The IndexDocument Suffix is not well formed"),
        (
            format!("{INDEX}<ErrorDocument><Key></Key></ErrorDocument>"),
            argument,
            "The ErrorDocument Key is not well formed",
        ),
        (format!("{elsewhere}{INDEX}"), malformed, ""),
        (elsewhere.replace(host, ""), malformed, ""),
        (elsewhere.replace("example.com", "example.com/path?"), malformed, ""),
        (elsewhere.replace(host, &format!("{host}<Protocol>ftp</Protocol>")), invalid, protocol),
        (with_rules(&rule("", &format!("{host}<Protocol>ftp</Protocol>"))), invalid, protocol),
    ] {
        let Failure { code, message: said, .. } = kept(&inner).expect_err(&inner);
        assert_eq!(code, expected, "{inner}");
        assert!(message.is_empty() || said == message, "{inner}: {said}");
    }
}

#[test]
fn what_a_routing_rule_may_not_say_is_refused_in_s3_s_words() {
    let host = "<HostName>example.com</HostName>";
    let code =
        |code| with_rules(&rule("", &format!("{host}<HttpRedirectCode>{code}</HttpRedirectCode>")));
    let error = |code: &str| {
        let condition =
            format!("<HttpErrorCodeReturnedEquals>{code}</HttpErrorCodeReturnedEquals>");
        with_rules(&rule(&condition, host))
    };
    let (malformed, invalid) = (Code::MalformedXml, Code::InvalidRequest);
    for (inner, expected, message) in [
        (
            with_rules(&format!(
                "<RoutingRule><Condition/><Redirect>{host}</Redirect></RoutingRule>"
            )),
            malformed,
            "",
        ),
        (with_rules(&rule("<KeyPrefixEquals>docs/</KeyPrefixEquals>", "")), malformed, ""),
        (
            with_rules(&rule(
                "",
                "<ReplaceKeyWith>a</ReplaceKeyWith><ReplaceKeyPrefixWith>b</ReplaceKeyPrefixWith>",
            )),
            invalid,
            "You can only define ReplaceKeyPrefix or ReplaceKey but not both.",
        ),
        (
            with_rules(&rule("", host).repeat(51)),
            invalid,
            "51 routing rules provided, the number of routing rules in a website configuration is limited to 50.",
        ),
        (
            code("300"),
            invalid,
            "The provided HTTP redirect code (300) is not valid. Valid codes are 3XX except 300.",
        ),
        (code("306"), invalid, ""),
        (code("309"), invalid, ""),
        (code("3xx"), malformed, ""),
        (
            error("418"),
            invalid,
            "The provided HTTP error code (418) is not valid. Valid codes are 4XX or 5XX.",
        ),
        (error("399"), invalid, ""),
        (error("506"), invalid, ""),
        (error("4xx"), malformed, ""),
    ] {
        let Failure { code, message: said, .. } = kept(&inner).expect_err(&inner);
        assert_eq!(code, expected, "{inner}");
        assert!(message.is_empty() || said == message, "{inner}: {said}");
    }
    assert!(kept(&with_rules(&rule("", host).repeat(50))).is_ok());
    assert!(kept(&error("404")).is_ok() && kept(&code("308")).is_ok());
}

#[test]
fn a_document_is_kept_as_it_was_put() {
    let inner = format!(
        "{INDEX}<ErrorDocument><Key>error &amp; all.html</Key></ErrorDocument>{}",
        "<RoutingRules><RoutingRule><Redirect><HostName>h</HostName></Redirect></RoutingRule></RoutingRules>"
    );
    let document = kept(&inner).unwrap();
    assert!(document.contains(&inner), "{document}");
    assert!(stored(&document).is_some());
    assert_eq!(stored("<no>"), None);
}

#[test]
fn requests_go_where_the_first_rule_says_that_fits() {
    let rules = [
        rule(
            "<KeyPrefixEquals>old/</KeyPrefixEquals>",
            "<ReplaceKeyPrefixWith>new/</ReplaceKeyPrefixWith><HttpRedirectCode>302</HttpRedirectCode>",
        ),
        rule("<KeyPrefixEquals>old/x</KeyPrefixEquals>", "<ReplaceKeyWith>never</ReplaceKeyWith>"),
        rule(
            "<HttpErrorCodeReturnedEquals>404</HttpErrorCodeReturnedEquals>",
            "<HostName>other.example.com</HostName><Protocol>https</Protocol><ReplaceKeyWith>not found</ReplaceKeyWith>",
        ),
    ];
    let document = kept(&with_rules(&rules.concat())).unwrap();
    let site = stored(&document).unwrap();
    let origin = "http://site";
    let redirect = |status, to: &str| Step::Redirect(status, to.to_owned());
    let show = |key: &str| Step::Show(key.to_owned());
    assert_eq!(site.first("old/x y", origin), redirect(302, "http://site/new/x%20y"));
    assert_eq!(site.first("", origin), show("index.html"));
    assert_eq!(site.first("a/", origin), show("a/index.html"));
    assert_eq!(site.first("a", origin), show("a"));
    assert_eq!(site.below("a").as_deref(), Some("a/index.html"));
    assert_eq!(site.below("a/"), None);
    let to = redirect(301, "https://other.example.com/not%20found");
    assert_eq!(site.after(404, "a", origin), to);
    assert_eq!(site.after(403, "a", origin), Step::Tell(None));
    let elsewhere =
        "<RedirectAllRequestsTo><HostName>www.example.com</HostName></RedirectAllRequestsTo>";
    let site = stored(&kept(elsewhere).unwrap()).unwrap();
    assert_eq!(site.first("a/b", "https://site"), redirect(301, "https://www.example.com/a/b"));
}
