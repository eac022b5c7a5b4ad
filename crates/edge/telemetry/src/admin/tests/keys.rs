//! Access keys are shown with what they may do, by pages, and never with their secrets.

use super::{Served, admin};
use crate::{Admin, AdminSettings, GrantedStatus, KeyPage, keys_of};
use ripstop_identity::{BucketRights, Credentials, Right, Rights};
use ripstop_model::TenantId;
use std::sync::Arc;

fn rights(buckets: &str, rights: &[Right]) -> Rights {
    Rights::of(vec![BucketRights::new(buckets.parse().unwrap(), rights.iter().copied())]).unwrap()
}

async fn shown(credentials: Option<Credentials>) -> Served {
    let name = |tenant| (tenant == TenantId(7)).then(|| "shop".to_owned());
    let keys = credentials.map(|credentials| -> crate::Keys {
        Arc::new(move |after: &str, max| keys_of(&credentials, &name, after, max))
    });
    let admin = Admin { keys, ..admin(None) };
    Served::by(admin, AdminSettings::default()).await
}

fn page(answer: &(u16, String)) -> KeyPage {
    assert_eq!(answer.0, 200, "{}", answer.1);
    serde_json::from_str(answer.1.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

#[tokio::test]
async fn keys_are_shown_by_pages_without_their_secrets() {
    let pairs = [("B-READER", "hidden-1"), ("A-ADMIN", "hidden-2"), ("C-NOTHING", "hidden-3")];
    let mut credentials: Credentials = pairs.into_iter().collect();
    credentials.grant("B-READER", rights("photos-*", &[Right::Write, Right::Read]));
    credentials.assign("B-READER", TenantId(7));
    credentials.grant("C-NOTHING", Rights::none());
    credentials.grant_unsigned(rights("public", &[Right::Read])).unwrap();
    let served = shown(Some(credentials)).await;
    let answer = served.get("/keys").await;
    assert!(!answer.1.contains("hidden"), "{}", answer.1);
    let all = page(&answer);
    let granted = |buckets: &str, rights: &[&str]| GrantedStatus {
        buckets: buckets.to_owned(),
        rights: rights.iter().map(|&right| right.to_owned()).collect(),
    };
    let told: Vec<_> = all.keys.iter().map(|key| (&*key.access_key, key.administrator)).collect();
    assert_eq!(told, [("A-ADMIN", true), ("B-READER", false), ("C-NOTHING", false)]);
    assert_eq!(all.keys[1].rights, [granted("photos-*", &["read", "write"])]);
    let tenants: Vec<_> = all.keys.iter().map(|key| key.tenant.as_deref()).collect();
    assert_eq!(tenants, [None, Some("shop"), None]);
    assert_eq!((all.next, all.unsigned), (None, vec![granted("public", &["read"])]));
    let first = page(&served.get("/keys?max=2").await);
    assert_eq!((first.keys.len(), first.next.as_deref()), (2, Some("B-READER")));
    let rest = page(&served.get("/keys?after=B-READER&max=2").await);
    assert_eq!((rest.keys.len(), rest.next), (1, None));
    for bad in ["?max=0", "?max=1001", "?secret=true"] {
        assert_eq!(served.get(&format!("/keys{bad}")).await.0, 400, "{bad}");
    }
}

#[tokio::test]
async fn where_there_are_no_keys_none_are_shown() {
    assert_eq!(shown(None).await.get("/keys").await.0, 501);
}
