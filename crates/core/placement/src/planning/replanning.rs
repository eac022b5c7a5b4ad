use super::{
    attendance::Attendance,
    measurement::{Measurement, measure},
    subject::PlanSubject,
};
use crate::{
    Group, Plan, PlanError, Renewal, ServiceError, is_exact, moving::Census, renewal::renew,
};
use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};
use core::{fmt, time::Duration};
use ripstop_estimator::LogRecord;
use ripstop_model::NodeId;

/// Stripes that a pool without any is planned for.
pub const STRIPES_IF_NONE: u64 = 1000;
/// Nodes are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A node that comes or goes is planned for after this long: many are back before that.
const AWAY_AFTER: Duration = Duration::from_secs(30);

/// Plans one pool, again and again: who drives it has a clock, a task log, a count of stripes and a
/// way to rehearse.
#[derive(Clone, Debug)]
pub struct Replanning {
    subject: PlanSubject,
    /// What is followed.
    followed: Option<Vec<Vec<Group>>>,
    attendance: Attendance,
    /// Since it planned last.
    waited: Duration,
}

/// What came of planning.
#[derive(Clone, PartialEq, Debug)]
pub enum Replanned {
    /// Too little was measured.
    Unknown,
    /// The plan stays that is followed.
    Kept {
        /// What was known.
        measured: Box<Measurement>,
        /// Which part of its value the best other would save.
        saved: f64,
    },
    /// Another is followed from now on.
    Followed {
        /// What was known.
        measured: Box<Measurement>,
        /// The plan.
        plan: Box<Plan>,
    },
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplanningError {
    /// What was measured of a node is no service time.
    Service(ServiceError),
    /// There is none.
    Plan(PlanError),
    /// Stripes have too few fragments to survive the loss of sites.
    FewFragments {
        /// Of a stripe.
        fragments: usize,
        /// To be survived.
        survive_sites: u32,
    },
}

impl fmt::Display for ReplanningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(error) => write!(f, "{error}"),
            Self::Plan(error) => write!(f, "{error}"),
            Self::FewFragments { fragments, survive_sites } => write!(
                f,
                "with {fragments} fragments a stripe cannot survive the loss of {survive_sites} sites"
            ),
        }
    }
}

impl core::error::Error for ReplanningError {}

impl From<PlanError> for ReplanningError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl Replanning {
    /// Of a pool that follows `former` groups, if its stripes can be there.
    pub fn new(subject: PlanSubject, former: Option<Vec<Group>>) -> Self {
        let n = subject.code.n();
        let fits = |groups: &Vec<Group>| {
            !groups.is_empty() && groups.iter().all(|group| group.nodes.len() == n)
        };
        let followed = former.filter(fits).map(|groups| vec![groups]);
        Self { subject, followed, attendance: Attendance::default(), waited: Duration::ZERO }
    }

    /// The pool.
    pub fn subject(&self) -> &PlanSubject {
        &self.subject
    }

    /// The groups that are followed, of the one class there is.
    pub fn followed(&self) -> Option<&[Group]> {
        self.followed.as_ref().and_then(|classes| classes.first()).map(Vec::as_slice)
    }

    /// From one look to the next.
    pub fn pause(&self) -> Duration {
        LOOK_EVERY.min(self.subject.auto.every)
    }

    /// Takes in, a pause after the last look, which nodes are in service; whether it is time to
    /// plan.
    pub fn look(&mut self, up: BTreeMap<NodeId, bool>) -> bool {
        let (pause, every) = (self.pause(), self.subject.auto.every);
        self.waited += pause;
        let changed = self.attendance.look(up, pause, AWAY_AFTER.min(every));
        let is_time = self.waited >= every || changed;
        if is_time {
            self.waited = Duration::ZERO;
        }
        is_time
    }

    /// Looks whether another plan is better by enough than what is followed, and follows it: with
    /// this task log, stripes that are where the census says and, if so, still being moved.
    /// `value` rehearses a plan as was measured ([`renew`]).
    pub fn plan(
        &mut self,
        records: Vec<LogRecord>,
        census: &Census,
        is_moving: bool,
        mut value: impl FnMut(&Measurement, &Plan) -> f64,
    ) -> Result<Replanned, ReplanningError> {
        let files = if census.stripes > 0 { census.stripes } else { STRIPES_IF_NONE };
        let settled = self.attendance.settled.iter().flatten();
        let down = settled.filter(|(_, up)| !**up).map(|(&id, _)| id).collect();
        let measured = measure(&self.subject, files, records, &down);
        let Some(measured) = measured.map_err(ReplanningError::Service)? else {
            return Ok(Replanned::Unknown);
        };
        let measured = Box::new(measured);
        let (former, gain) = (self.former(census, is_moving), self.subject.auto.gain);
        let value = |plan: &Plan| value(&measured, plan);
        let plan = match renew(&measured.problem, former.as_deref(), gain, value)? {
            Renewal::Follow(plan) => plan,
            Renewal::Keep { saved } => return Ok(Replanned::Kept { measured, saved }),
        };
        if !is_exact(&measured.problem, &plan) {
            let survive_sites = self.subject.auto.survive_sites;
            let fragments = self.subject.code.n();
            return Err(ReplanningError::FewFragments { fragments, survive_sites });
        }
        self.followed = Some(plan.classes.clone());
        Ok(Replanned::Followed { measured, plan })
    }

    /// The groups that a plan begins from: where stripes are, or, as long as they are on their way,
    /// where they are brought.
    fn former(&self, census: &Census, is_moving: bool) -> Option<Vec<Vec<Group>>> {
        if self.followed.is_some() && (is_moving || census.groups.is_empty()) {
            return self.followed.clone();
        }
        let (n, k) = (self.subject.code.n(), self.subject.code.k());
        let number = |id: &NodeId| {
            let at = self.subject.nodes.iter().position(|node| node.id == *id)?;
            Some(at as u16)
        };
        let group = |(nodes, files): &(Vec<NodeId>, u64)| {
            let mut nodes = nodes.iter().map(number).collect::<Option<Vec<u16>>>()?;
            nodes.sort_unstable();
            let known = self.followed.iter().flatten().flatten();
            let known = known.into_iter().find(|group| group.nodes == nodes);
            let probabilities = known
                .map_or_else(|| vec![k as f64 / n as f64; n], |group| group.probabilities.clone());
            (nodes.len() == n).then_some(Group { files: *files, nodes, probabilities })
        };
        let groups: Vec<Group> = census.groups.iter().filter_map(group).collect();
        (!groups.is_empty()).then(|| vec![groups])
    }
}

#[cfg(test)]
mod tests;
