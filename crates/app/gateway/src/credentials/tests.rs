use super::*;
use ripstop_identity::{Principal, Privilege, Resource, allows};
use std::fs;

#[test]
fn made_once_kept_for_the_owner_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let (_, first) = load(&file).unwrap();
    assert!(matches!(first, CredentialsOrigin::New { .. }));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (_, second) = load(&file).unwrap();
    assert!(matches!(second, CredentialsOrigin::Known));
    let more = fs::read_to_string(&file).unwrap() + "[more]\nguest = \"a-secret\"\n";
    fs::write(&file, &more).unwrap();
    assert!(load(&file).is_ok());
    fs::write(&file, more.replace("a-secret", "short")).unwrap();
    assert!(load(&file).is_err());
}

#[test]
fn refusals_do_not_show_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    fs::write(&file, "access_key = \"me\"\nsecret = \"hush-hush\"\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(load(&file).err().unwrap().to_string().contains("mode 644"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(!format!("{:#}", load(&file).err().unwrap()).contains("hush"));
}

/// A file with two keys and more tables, read; the refusal in one line where it is refused.
fn told(tables: &str) -> std::result::Result<Credentials, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let pairs =
        "access_key = \"MAIN\"\nsecret_key = \"hush-hush\"\n[more]\nSHOP = \"hush-hush-hush\"\n";
    fs::write(&file, format!("{pairs}{tables}")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let path = file.display().to_string();
    load(&file).map(|(credentials, _)| credentials).map_err(|error| {
        let told = format!("{error:#}");
        assert!(told.contains(&path), "{told}");
        told.replace(&path, "FILE")
    })
}

fn may(principal: &Principal, action: Privilege, bucket: &str) -> bool {
    allows(principal, action, &Resource::Bucket(bucket))
}

#[test]
fn without_a_table_of_rights_every_key_may_do_everything() {
    let credentials = told("").unwrap();
    for key in ["MAIN", "SHOP"] {
        assert!(credentials.principal(key).unwrap().rights().is_administrator(), "{key}");
    }
    assert!(!may(&credentials.unsigned(), Privilege::Read, "public"));
    let open = told("[unsigned]\npublic = \"read\"\n").unwrap();
    assert!(open.principal("SHOP").unwrap().rights().is_administrator());
    assert!(may(&open.unsigned(), Privilege::Read, "public"));
    assert!(!may(&open.unsigned(), Privilege::Write, "public"));
}

#[test]
fn rights_are_read_in_every_way_that_they_can_be_written() {
    for tables in [
        "[rights]\nMAIN = \"administrator\"\nSHOP = { \"shop-*\" = [\"read\", \"write\"], list = \"read\" }\n",
        "[rights]\nMAIN = \"administrator\"\n[rights.SHOP]\n\"shop-*\" = [\"read\", \"write\"]\nlist = [\"read\"]\n",
        "[rights.SHOP]\n\"shop-*\" = [\"write\", \"read\", \"read\"]\nlist = \"read\"\n[rights]\nMAIN = \"administrator\"\n",
    ] {
        let credentials = told(tables).unwrap();
        let shop = credentials.principal("SHOP").unwrap();
        assert!(may(&shop, Privilege::Write, "shop-1") && may(&shop, Privilege::Read, "list"));
        assert!(!may(&shop, Privilege::Own, "shop-1") && !may(&shop, Privilege::Write, "list"));
        assert!(credentials.principal("MAIN").unwrap().rights().is_administrator());
    }
    let nothing = told("[rights]\nMAIN = {}\nSHOP = {}\n").unwrap();
    assert!(!may(&nothing.principal("MAIN").unwrap(), Privilege::Know, "shop-1"));
}

#[test]
fn bad_rights_are_refused_with_their_line_and_key() {
    let main = "[rights]\nMAIN = \"administrator\"\n";
    let many: Vec<_> = (0..300).map(|at| format!("bucket-{at} = \"read\"\n")).collect();
    let many = many.concat();
    for (tables, said) in [
        ("[rights]\nSHOP = {}\n".to_owned(), "FILE: rights of \"MAIN\" are missing"),
        (
            format!("{main}SHOP = {{}}\nNONE = {{}}\n"),
            "line 8: rights of \"NONE\": there is no such access key",
        ),
        (
            format!("{main}SHOP = \"admin\"\n"),
            "line 7: rights of \"SHOP\": they must be \"administrator\", \"user\" or",
        ),
        (
            format!("{main}SHOP = {{ photos = \"list\" }}\n"),
            "line 7: rights of \"SHOP\": bucket \"photos\": it must",
        ),
        (
            format!("{main}SHOP = {{ photos = [\"read\", 1] }}\n"),
            "rights of \"SHOP\": bucket \"photos\": it must",
        ),
        (
            format!("{main}SHOP = {{ \"P*\" = \"read\" }}\n"),
            "rights of \"SHOP\": \"P*\" is neither a bucket's name",
        ),
        (
            format!("{main}[rights.SHOP]\n{many}"),
            "rights of \"SHOP\": 300 buckets are named, at most 256",
        ),
        (
            "[unsigned]\n\"*\" = \"owner\"\n".to_owned(),
            "rights of requests without a signature: requests without",
        ),
        (
            "[unsigned]\npublic = \"all\"\n".to_owned(),
            "line 6: rights of requests without a signature: bucket",
        ),
        (format!("{main}SHOP = {{}}\nSHOP = {{}}\n"), "FILE, line 8: two lines are wanted"),
        ("[right]\nMAIN = {}\n".to_owned(), "FILE, line 5: two lines are wanted"),
    ] {
        let refused = told(&tables).unwrap_err();
        assert!(refused.contains(said), "{said}: {refused}");
        assert!(!refused.contains("hush"), "{refused}");
    }
}

#[test]
fn users_have_accounts_and_names() {
    let tables = "[rights]\nMAIN = \"administrator\"\nSHOP = \"user\"\n";
    let name = |credentials: &Credentials, key: &str| {
        let principal = credentials.principal(key).unwrap();
        let (_, name) = principal.user().unwrap();
        ((**name).to_owned(), principal.rights().is_user())
    };
    let credentials = told(tables).unwrap();
    assert_eq!(name(&credentials, "SHOP"), ("SHOP".to_owned(), true), "like the key");
    assert!(!may(&credentials.principal("SHOP").unwrap(), Privilege::Know, "shop-1"));
    let credentials =
        told(&format!("{tables}[users]\nSHOP = \"shop\"\nMAIN = \"root\"\n")).unwrap();
    assert_eq!(name(&credentials, "SHOP"), ("shop".to_owned(), true));
    assert_eq!(name(&credentials, "MAIN"), ("root".to_owned(), false));
    assert!(credentials.know_user("shop") && credentials.have_account("shop"));
    assert!(credentials.know_user("root") && !credentials.have_account("root"));
    for (users, said) in [
        ("SHOP = \"ripstop\"", "\"ripstop\" is no user's name"),
        ("SHOP = \"MAIN\"", "line 9: the user of \"SHOP\": \"MAIN\" is the access key"),
        ("SHOP = \"a b\"", "line 9: the user of \"SHOP\": a name must be"),
        ("NONE = \"a\"", "line 9: the user of \"NONE\": there is no such access key"),
        ("SHOP = \"a\"\nMAIN = \"a\"", "the user \"a\" has a key with an account of its own"),
    ] {
        let refused = told(&format!("{tables}[users]\n{users}\n")).unwrap_err();
        assert!(refused.contains(said), "{said}: {refused}");
    }
}

#[test]
fn what_stands_where_rights_should_is_not_shown() {
    for tables in [
        "[rights]\nMAIN = \"hush-hush\"\n",
        "[rights]\nMAIN = { photos = \"hush-hush\" }\n",
        "[unsigned]\nphotos = \"hush-hush\"\n",
    ] {
        let refused = told(tables).unwrap_err();
        assert!(!refused.contains("hush"), "{refused}");
    }
}

#[test]
fn a_file_that_is_too_long_is_refused_and_not_cut() {
    let long = format!("# {}\n", "x".repeat(FILE_LEN_MAX as usize));
    let refused = told(&long).unwrap_err();
    assert!(refused.contains("bytes, at most 16777216 are read"), "{refused}");
}
