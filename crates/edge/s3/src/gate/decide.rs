//! What a request was let in for, and what is asked again on its way.

use super::{
    BucketAccess, Circumstances,
    facts::Seen,
    judge::{Asker, Denier, Question, Sight, Verdict, Why, judge},
};
use crate::{
    error::{Code, Failure, Outcome},
    tagging::Tags,
};
use ripstop_access::{AccessRequest, Facts, Requester, S3Action};
use ripstop_catalog::{Attributes, Located};
use ripstop_identity::{Principal, Privilege, Resource, rights_allow};
use std::sync::Arc;

/// What somebody wants done to a bucket or an object.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// All of these must be allowed.
    pub(crate) actions: Vec<S3Action>,
    /// What the operator must allow instead.
    pub(crate) privilege: Privilege,
    pub(crate) bucket: String,
    pub(crate) key: Option<String>,
    /// Whether the operation looks at the object, through [`Gate::settle`].
    pub(crate) looks: bool,
}

impl Need {
    fn resource(&self) -> String {
        match &self.key {
            Some(key) => format!("{}/{key}", self.bucket),
            None => self.bucket.clone(),
        }
    }

    /// Whether rights alone would allow it.
    pub(crate) fn is_allowed_to(&self, principal: &Principal) -> bool {
        let resource = match &self.key {
            Some(key) => Resource::Object { bucket: &self.bucket, key },
            None => Resource::Bucket(&self.bucket),
        };
        rights_allow(principal, self.privilege, &resource)
    }
}

/// A need whose answer depends on the object.
#[derive(Debug)]
struct Pending {
    need: Need,
    access: Arc<BucketAccess>,
}

/// Who asks, in which circumstances, and as far as it is decided, what for.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) principal: Principal,
    /// The account of the store, whose all buckets are that are nobody else's.
    pub(crate) store_account: Arc<str>,
    /// What the bucket of the request says, if there is such a bucket.
    pub(crate) access: Option<Arc<BucketAccess>>,
    /// The same of the bucket that is copied from.
    pub(crate) source: Option<Arc<BucketAccess>>,
    /// What the request's key stands for, where that was found together with its bucket.
    pub(crate) ahead: Option<Arc<Located>>,
    /// Kept where a bucket has anything to say.
    pub(crate) circumstances: Option<Arc<Circumstances>>,
    pending: Option<Pending>,
    /// The bucket whose owner let it in, where neither the operator did nor its own ownership.
    host: Option<Arc<BucketAccess>>,
}

impl Gate {
    /// Of whom nothing is decided yet.
    pub(crate) fn new(principal: Principal, store_account: Arc<str>) -> Self {
        Self {
            principal,
            store_account,
            access: None,
            source: None,
            ahead: None,
            circumstances: None,
            pending: None,
            host: None,
        }
    }

    /// The account that the sender belongs to; none without a signature.
    pub(crate) fn account(&self) -> Option<Arc<str>> {
        let (_, name) = self.principal.user()?;
        if !self.principal.rights().is_user() {
            return Some(self.store_account.clone());
        }
        // Nobody becomes the store's account by being called like it.
        let is_taken = *name == self.store_account;
        Some(if is_taken { format!("user/{name}").into() } else { name.clone() })
    }

    /// The account as a bucket's record has it: nothing for the store's.
    pub(crate) fn owner_of_new(&self) -> String {
        let account = self.account().filter(|account| *account != self.store_account);
        account.map(|account| (*account).to_owned()).unwrap_or_default()
    }

    /// The account that owns the bucket of the request.
    pub(crate) fn bucket_owner(&self) -> &str {
        self.access.as_ref().map_or(&self.store_account, |access| &access.owner)
    }

    /// Whether a bucket is its sender's, or of the account that the operator's keys share.
    pub(crate) fn owns(&self, access: &BucketAccess) -> bool {
        self.account().is_some_and(|account| *account == *access.owner)
    }

    fn asker(&self) -> Asker {
        let rights = self.principal.rights();
        let requester = match (self.account(), self.principal.user()) {
            (Some(account), Some((access_key, name))) => {
                let (name, access_key) = (name.clone(), access_key.clone());
                Requester::User { account, name, access_key }
            }
            _ => Requester::Anonymous,
        };
        let (is_user, is_administrator) = (rights.is_user(), rights.is_administrator());
        let (policies, session) = (rights.policies().cloned(), self.principal.session().cloned());
        Asker { requester, is_user, is_administrator, policies, session }
    }

    /// Lets a need in that the operator allows, and about which the bucket says nothing; whether it
    /// did.
    pub(crate) fn lets_plainly(&self, access: &BucketAccess, need: &Need) -> bool {
        let is_silent = access.policy.is_none() && !access.is_unreadable;
        is_silent && !self.principal.is_judged() && need.is_allowed_to(&self.principal)
    }

    /// Lets it in, or leaves that to the object, or refuses.
    pub(crate) fn decide(&mut self, access: &Arc<BucketAccess>, need: Need) -> Outcome<()> {
        let sight = if need.looks { Sight::Later } else { Sight::None };
        match self.verdict(access, &need, sight, None) {
            (Verdict::Allowed(Why::Own), _) => {}
            (Verdict::Allowed(Why::Let), _) => self.host = Some(access.clone()),
            (Verdict::AskObject, _) => {
                self.pending = Some(Pending { need, access: access.clone() });
                self.host = Some(access.clone());
            }
            (Verdict::Refused, _) => return Err(Code::AccessDenied.into()),
            (Verdict::Denied(denier), action) => {
                return Err(self.denied(&need, action, denier));
            }
        }
        Ok(())
    }

    /// What all actions of a need come to, and by which of them.
    fn verdict(
        &self,
        access: &BucketAccess,
        need: &Need,
        sight: Sight<'_>,
        given: Option<&Tags>,
    ) -> (Verdict, Option<S3Action>) {
        let (asker, resource) = (self.asker(), need.resource());
        let rights = need.is_allowed_to(&self.principal);
        let existing = match sight {
            Sight::Found(object) => Some(&object.tags),
            Sight::None | Sight::Later => None,
        };
        let seen = self.seen(&asker, given, existing);
        let facts: &dyn Facts = match &seen {
            Some(seen) => seen,
            None => &(),
        };
        let mut all = (Verdict::Allowed(Why::Own), None);
        // Of what no policy can speak, rights alone decide.
        if need.actions.is_empty() && (self.principal.is_judged() || !rights) {
            all.0 = Verdict::Refused;
        }
        for &action in &need.actions {
            let resource = resource.as_str();
            let question = Question { asker: &asker, rights, action, resource, facts, sight };
            let verdict = judge(access, &question);
            if rank(verdict) > rank(all.0) {
                all = (verdict, Some(action));
            }
        }
        all
    }

    fn seen<'a>(
        &'a self,
        asker: &'a Asker,
        given: Option<&'a Tags>,
        existing: Option<&'a Tags>,
    ) -> Option<Seen<'a>> {
        let circumstances = self.circumstances.as_deref()?;
        let began_s = asker.session.as_ref().map(|session| session.began_s);
        Some(Seen { circumstances, requester: &asker.requester, began_s, given, existing })
    }

    /// Whether a policy could let an action be done to something in the bucket.
    pub(crate) fn may_be_let(&self, access: &BucketAccess, need: &Need, action: S3Action) -> bool {
        let asker = self.asker();
        let policy = access.policy.as_ref();
        let by_rights = self.principal.is_narrowed() && need.is_allowed_to(&self.principal);
        let may = policy.is_some_and(|policy| policy.may_allow(&asker.requester, action))
            || asker.may_allow(action, by_rights);
        let session = asker.session_policy();
        may && session.is_none_or(|policy| policy.may_allow(&asker.requester, action))
    }

    /// Of a bucket that is not there only those hear who may know: the operator's keys in their
    /// buckets, users of policies where these allow it, and users with accounts, who can find out
    /// which names are taken anyway.
    pub(crate) fn check_absent(&self, need: &Need) -> Outcome<()> {
        let is_user = self.principal.rights().is_user();
        self.check_own(need, is_user || need.is_allowed_to(&self.principal))
    }

    /// Whether policies of the sender's own allow it, which has them; of others `by_rights` says
    /// it.
    pub(crate) fn check_own(&self, need: &Need, by_rights: bool) -> Outcome<()> {
        let (asker, resource) = (self.asker(), need.resource());
        let seen = self.seen(&asker, None, None);
        let facts: &dyn Facts = match &seen {
            Some(seen) => seen,
            None => &(),
        };
        let is_judged = self.principal.is_judged();
        let mut is_let = by_rights || asker.policies.is_some();
        is_let &= !(is_judged && need.actions.is_empty());
        for &action in &need.actions {
            let (requester, resource) = (&asker.requester, resource.as_str());
            let leave = asker.leave(&AccessRequest { requester, action, resource, facts });
            let leave = leave.map_err(|denier| self.denied(need, Some(action), denier))?;
            is_let &= leave.user.unwrap_or(true) && leave.session;
        }
        if is_let { Ok(()) } else { Err(Code::AccessDenied.into()) }
    }

    /// What depends on the object, now that it was found; `given` are tags that the body has.
    pub(crate) fn settle(&self, object: &Attributes, given: Option<&Tags>) -> Outcome<()> {
        let Some(Pending { need, access }) = &self.pending else { return Ok(()) };
        match self.verdict(access, need, Sight::Found(object), given) {
            (Verdict::Allowed(_), _) => Ok(()),
            (Verdict::Denied(denier), action) => Err(self.denied(need, action, denier)),
            (Verdict::AskObject | Verdict::Refused, _) => Err(Code::AccessDenied.into()),
        }
    }

    /// Whether this may be done to something else in the bucket, without a look at it.
    pub(crate) fn check(&self, need: &Need) -> Outcome<()> {
        let Some(access) = &self.access else { return self.check_absent(need) };
        self.check_at(access, need)
    }

    /// The same in another bucket.
    pub(crate) fn check_at(&self, access: &BucketAccess, need: &Need) -> Outcome<()> {
        if self.lets_plainly(access, need) {
            return Ok(());
        }
        match self.verdict(access, need, Sight::None, None) {
            (Verdict::Allowed(_), _) => Ok(()),
            (Verdict::Denied(denier), action) => Err(self.denied(need, action, denier)),
            (Verdict::AskObject | Verdict::Refused, _) => Err(Code::AccessDenied.into()),
        }
    }

    /// What somebody is told of an object that is not there who may not see what is: nothing.
    pub(crate) fn hide(&self, bucket: &str, failure: Failure) -> Failure {
        let is_missing = matches!(failure.code, Code::NoSuchKey | Code::NoSuchVersion);
        let Some(host) = self.host.as_ref().filter(|_| is_missing) else { return failure };
        let need = Need {
            actions: S3Action::named("ListBucket").into_iter().collect(),
            privilege: Privilege::Read,
            bucket: bucket.to_owned(),
            key: None,
            looks: false,
        };
        match self.check_at(host, &need) {
            Ok(()) => failure,
            Err(_) => Code::AccessDenied.into(),
        }
    }

    fn denied(&self, need: &Need, action: Option<S3Action>, denier: Denier) -> Failure {
        let arn = self.asker().requester.arn();
        let Some((arn, action)) = arn.zip(action) else { return Code::AccessDenied.into() };
        let message = format!(
            "User: {arn} is not authorized to perform: s3:{} on resource: \"arn:aws:s3:::{}\" with \
             an explicit deny in {}",
            action.name(),
            need.resource(),
            denier.kind()
        );
        Failure::new(Code::AccessDenied, message)
    }
}

/// Which of several verdicts stands.
const fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allowed(Why::Own) => 0,
        Verdict::Allowed(Why::Let) => 1,
        Verdict::AskObject => 2,
        Verdict::Refused => 3,
        Verdict::Denied(_) => 4,
    }
}
