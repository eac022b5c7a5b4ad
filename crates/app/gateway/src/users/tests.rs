use super::{UserAnswer, UserCommand, UsersFile, document};
use crate::config;
use ripstop_identity::{Credentials, Privilege, Resource, allows};
use std::{fs, os::unix::fs::PermissionsExt as _};

const READ: &str = "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\
    \"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::*\"}]}";

struct Folder {
    folder: tempfile::TempDir,
    file: UsersFile,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("[gateway]\ndata = {:?}\n", folder.path());
        let file = UsersFile::of(&config::parse(&text, []).unwrap());
        let pairs = "access_key = \"MAIN\"\nsecret_key = \"hush-hush\"\n[users]\nMAIN = \"root\"\n";
        let credentials = folder.path().join("credentials");
        fs::write(&credentials, pairs).unwrap();
        fs::set_permissions(&credentials, fs::Permissions::from_mode(0o600)).unwrap();
        Self { folder, file }
    }

    fn tell(&self, command: UserCommand) -> Result<UserAnswer, String> {
        self.file.carry_out(command).map_err(|error| format!("{error:#}"))
    }

    fn user(&self, name: &str, policies: &[&str]) -> Result<UserAnswer, String> {
        let policies = policies.iter().map(|&name| name.to_owned()).collect();
        self.tell(UserCommand::AddUser { name: name.into(), account: false, policies })
    }

    fn key(&self, user: &str, access_key: Option<&str>) -> Result<(String, String), String> {
        let access_key = access_key.map(str::to_owned);
        let command = UserCommand::AddKey { user: user.into(), access_key, secret_key: None };
        let UserAnswer::Key { access_key, secret_key } = self.tell(command)? else {
            panic!("a key is answered")
        };
        Ok((access_key, (*secret_key).clone()))
    }

    fn policy(&self, name: &str, text: &str) -> Result<UserAnswer, String> {
        self.tell(UserCommand::PutPolicy { name: name.into(), text: text.into() })
    }

    fn let_in(&self) -> Credentials {
        let mut credentials = Credentials::new();
        self.file.read().unwrap().let_in(&mut credentials).unwrap();
        credentials
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file.path()).unwrap_or_default()
    }
}

#[test]
fn users_get_keys_and_policies_and_lose_them() {
    let folder = Folder::new();
    assert!(folder.file.stamp().is_none());
    folder.policy("read", &format!("{READ}\n")).unwrap();
    folder.user("ann", &["read"]).unwrap();
    assert!(folder.let_in().know_user("ann"), "also without a key");
    let (access_key, secret) = folder.key("ann", None).unwrap();
    let mode = fs::metadata(folder.file.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let credentials = folder.let_in();
    assert_eq!(credentials.secret(&access_key), (secret.as_str(), true));
    let ann = credentials.principal(&access_key).unwrap();
    assert_eq!(&**ann.user().unwrap().1, "ann");
    assert_eq!(ann.rights().policies().unwrap().len(), 1);
    assert!(!allows(&ann, Privilege::Read, &Resource::Bucket("any")), "names alone do not");
    let stamp = folder.file.stamp();
    let disable = |disabled| {
        let access_key = access_key.clone();
        folder.tell(UserCommand::DisableKey { access_key, disabled }).unwrap();
    };
    disable(true);
    assert_ne!(folder.file.stamp(), stamp);
    assert!(!folder.let_in().knows(&access_key));
    disable(false);
    assert!(folder.let_in().knows(&access_key));
    let detach = UserCommand::DetachPolicy { name: "read".into(), user: "ann".into() };
    folder.tell(detach).unwrap();
    let ann = folder.let_in().principal(&access_key).unwrap();
    assert!(ann.rights().policies().unwrap().is_empty());
    folder.tell(UserCommand::RemoveUser { name: "ann".into() }).unwrap();
    assert!(!folder.let_in().knows(&access_key) && !folder.let_in().know_user("ann"));
    folder.tell(UserCommand::RemovePolicy { name: "read".into() }).unwrap();
    let UserAnswer::Policies(policies) = folder.tell(UserCommand::ListPolicies).unwrap() else {
        panic!("policies are answered")
    };
    assert!(policies.is_empty());
}

#[test]
fn a_user_may_have_an_account_of_its_own_and_then_no_policies() {
    let folder = Folder::new();
    folder.policy("read", READ).unwrap();
    let own = UserCommand::AddUser { name: "shop".into(), account: true, policies: vec![] };
    folder.tell(own).unwrap();
    let (access_key, _) = folder.key("shop", Some("SHOP")).unwrap();
    let credentials = folder.let_in();
    assert!(credentials.principal(&access_key).unwrap().rights().is_user());
    assert!(credentials.have_account("shop"));
    let attach = UserCommand::AttachPolicy { name: "read".into(), user: "shop".into() };
    let told = folder.tell(attach).unwrap_err();
    assert!(told.contains("has an account of its own"), "{told}");
}

#[test]
fn what_is_refused_changes_nothing_and_says_why() {
    let folder = Folder::new();
    folder.policy("read", READ).unwrap();
    folder.user("ann", &["read"]).unwrap();
    folder.key("ann", Some("ANN")).unwrap();
    let before = folder.text();
    let name = |name: &str| name.to_owned();
    for (told, said) in [
        (folder.user("ann", &[]).err(), "there is a user \"ann\" already"),
        (folder.user("a b", &[]).err(), "a user's name must be 1 to 64"),
        (folder.user("ripstop", &[]).err(), "\"ripstop\" is no user's name"),
        (folder.user("root", &[]).err(), "\"root\" is somebody else's name or key"),
        (folder.user("MAIN", &[]).err(), "\"MAIN\" is somebody else's name or key"),
        (folder.user("ANN", &[]).err(), "is somebody else's name or key"),
        (folder.user("bob", &["none"]).err(), "there is no policy \"none\""),
        (folder.key("bob", None).err(), "there is no user \"bob\""),
        (folder.key("ann", Some("MAIN")).err(), "\"MAIN\" is somebody else's name or key"),
        (folder.key("ann", Some("ANN")).err(), "is there already, of user \"ann\""),
        (folder.key("ann", Some("A")).err(), "an access key must be 3 to 128"),
        (folder.policy("a/b", READ).err(), "a policy's name must be 1 to 128"),
        (folder.policy("other", "{}").err(), "policy \"other\": Missing required field Statement"),
        (
            folder.policy("read", &READ.replace("Allow", "Perhaps")).err(),
            "policy \"read\": Invalid effect: Perhaps",
        ),
        (
            folder
                .policy("who", &READ.replace("\"Effect\"", "\"Principal\":\"*\",\"Effect\""))
                .err(),
            "Unknown field Principal",
        ),
        (
            folder.tell(UserCommand::RemovePolicy { name: name("read") }).err(),
            "policy \"read\" is attached to ann",
        ),
        (
            folder.tell(UserCommand::RemoveKey { access_key: name("MAIN") }).err(),
            "there is no key \"MAIN\" that was made by a command",
        ),
        (
            folder.tell(UserCommand::RemoveUser { name: name("root") }).err(),
            "there is no user \"root\" that was made by a command",
        ),
    ] {
        let told = told.unwrap_or_else(|| panic!("not refused: {said}"));
        assert!(told.contains(said), "{said}: {told}");
        assert_eq!(folder.text(), before, "{said}");
    }
    for _ in 1..document::KEYS_MAX {
        folder.key("ann", None).unwrap();
    }
    let told = folder.key("ann", None).unwrap_err();
    assert!(told.contains("9 keys, at most 8 can be"), "{told}");
    let long = READ.replace("s3:GetObject", &"s3:GetObject".repeat(3000));
    assert!(folder.policy("long", &long).unwrap_err().contains("at most 20480 can be"));
}

#[test]
fn secrets_are_in_no_error_and_in_nothing_that_is_printed() {
    let folder = Folder::new();
    folder.user("ann", &[]).unwrap();
    let secret_key = Some("hush-hush-hush".to_owned().into());
    let command = UserCommand::AddKey { user: "ann".into(), access_key: None, secret_key };
    assert!(!format!("{command:?}").contains("hush"));
    let answer = folder.tell(command).unwrap();
    assert!(!format!("{answer:?}").contains("hush"));
    let text = folder.text();
    assert!(text.contains("hush-hush-hush"));
    for broken in [
        text.replace("\"hush-hush-hush\"", "[\"hush-hush-hush\"]"),
        text.replace("\"secret\"", "\"hush\""),
        text.replace("hush-hush-hush", "hush"),
        text.replace("hush-hush-hush\"", "hush"),
    ] {
        fs::write(folder.file.path(), &broken).unwrap();
        let told = folder.user("bob", &[]).unwrap_err();
        assert!(!told.contains("hush"), "{told}");
        assert_eq!(folder.text(), broken);
    }
    fs::set_permissions(folder.file.path(), fs::Permissions::from_mode(0o640)).unwrap();
    assert!(folder.user("bob", &[]).unwrap_err().contains("chmod 600"));
}

#[test]
fn of_many_who_change_it_at_once_none_is_lost() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                for user in 0..5 {
                    folder.user(&format!("user-{thread}-{user}"), &[]).unwrap();
                }
            });
        }
    });
    let UserAnswer::Users(users) = folder.tell(UserCommand::ListUsers).unwrap() else {
        panic!("users are answered")
    };
    assert_eq!(users.len(), 20);
    assert_eq!(fs::read_dir(folder.folder.path()).unwrap().count(), 3, "nothing is left over");
}
