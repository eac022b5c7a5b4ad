use crate::{
    Group, Plan, PlanError, Problem, StorageNode, StorageNodeState,
    block::{Block, Blocks},
    certificate::{Dual, most_loads},
    curve::UTILISATION_MAX,
    domain::{Domains, Shape},
    draft::{Draft, Lot},
    field::Goal,
    improvement::{fit, improve},
    movement::moves,
    relaxation::{Relaxation, field},
    rounding::round,
    start::{FEW_FILES_MAX, best_start},
};
use alloc::vec::Vec;

/// How far above its optimum the relaxation is left, as a part of the objective: less where it
/// costs little time.
fn relaxation_gap(relaxation: &Relaxation<'_>) -> f64 {
    if relaxation.field.limited() {
        3e-4
    } else if relaxation.blocks.blocks.len() > 200 {
        1e-4
    } else {
        5e-5
    }
}

/// A previous plan stays when no other is better by more than this part of the objective.
const STAY: f64 = 1e-4;

/// Single files are moved about only where more than this part of the objective is to be gained …
const IMPROVE_ABOVE: f64 = 6e-4;

/// … or, in problems of few files, more than this; there other places to begin from are tried, too.
const FEW_ABOVE: f64 = 1e-4;

/// What rounding errors can have added to the bound, as a part of the objective.
const ROUNDING: f64 = 1e-8;

/// Probabilities are not touched for less than this part of the objective.
const SETTLED: f64 = 1e-6;

/// Plans again from the plan it has made, at most this often, so that it would not change it again.
const ROUNDS_MAX: usize = 4;

/// The plan whose latency plus θ times money is least, as far as it is found, with a bound on how
/// far from the best it is.
///
/// With a previous plan, a chunk goes elsewhere only where that pays for its bytes
/// ([`Problem::seconds_per_moved_byte`]) and all together gain more than 1/10000 of the objective;
/// a plan that is solved again with the same problem comes back as it is. The probabilities follow
/// the rates without any move. The certificate says how far the plan is from the best one that
/// could be made from nothing, where a fixed node counts as free.
pub fn solve(problem: &Problem, previous: Option<&Plan>) -> Result<Plan, PlanError> {
    problem.check()?;
    let domains = Domains::new(&problem.nodes)?;
    let Some(previous) = previous else {
        let (draft, bound) = from_nothing(problem, &domains)?;
        return Ok(Plan::new(problem, draft.groups(problem), bound));
    };
    check_previous(problem, previous)?;
    let mut freed = problem.clone();
    for node in freed.nodes.iter_mut().filter(|node| node.state == StorageNodeState::Fixed) {
        node.state = StorageNodeState::Up;
    }
    let (best, bound) = from_nothing(&freed, &domains)?;
    let best = best.field.value();
    let mut groups = previous.classes.clone();
    for _ in 0..ROUNDS_MAX {
        let stay = keep(problem, &domains, &groups)?;
        if let Some(stay) = stay.as_ref().filter(|stay| stay.field.value() <= best * (1.0 + STAY)) {
            groups = stay.groups(problem);
            break;
        }
        let blocks = Blocks::new(problem, &domains, Some(&groups))?;
        let (relaxation, shapes) = relax(problem, &domains, blocks)?;
        let mut change = whole(problem, &domains, relaxation, &shapes)?;
        improve(&mut change, problem, &domains, STAY);
        match stay {
            Some(stay)
                if stay.field.value() - change.field.value() <= STAY * stay.field.value() =>
            {
                groups = stay.groups(problem);
                break;
            }
            Some(_) | None => groups = change.groups(problem),
        }
    }
    let mut plan = Plan::new(problem, groups, bound);
    plan.moves = moves(problem, &previous.classes, &plan.classes);
    Ok(plan)
}

/// The previous placements with probabilities for the rates of now; none if they cannot stay.
fn keep(
    problem: &Problem,
    domains: &Domains,
    groups: &[Vec<Group>],
) -> Result<Option<Draft>, PlanError> {
    let blocks = Blocks::new(problem, domains, Some(groups))?.blocks;
    if blocks.iter().any(|block| block.atoms.is_empty()) {
        return Ok(None);
    }
    let lot = |(at, block): (usize, &Block)| Lot {
        block: at,
        files: block.files,
        nodes: block.atoms[0].nodes.clone(),
        shares: block.atoms[0].shares.clone(),
    };
    let lots = blocks.iter().enumerate().map(lot).collect();
    let mut draft = Draft::new(blocks, lots, field(problem, Goal::Latency));
    let full = |(bytes, node): (&f64, &StorageNode)| *bytes > node.capacity_bytes as f64;
    if draft.field.bytes.iter().zip(&problem.nodes).any(full) {
        return Ok(None);
    }
    let (before, shares) = (draft.field.value(), draft.lots.clone());
    draft.settle(1e-9);
    if before - draft.field.value() <= SETTLED * before.abs() {
        draft.lots = shares;
        draft.recount();
    }
    let stable = draft.field.loads.iter().zip(&draft.field.curves);
    Ok(stable.into_iter().all(|(load, curve)| *load <= curve.load_max()).then_some(draft))
}

/// The best plan that is found without a previous one, and the bound for every plan.
fn from_nothing(problem: &Problem, domains: &Domains) -> Result<(Draft, f64), PlanError> {
    let blocks = Blocks::new(problem, domains, None)?;
    let (mut relaxation, shapes) = relax(problem, domains, blocks)?;
    let bound = bound(problem, &mut relaxation);
    let mut draft = whole(problem, domains, relaxation, &shapes)?;
    let lost = |draft: &Draft| (draft.field.value() - bound) / draft.field.value();
    let files = problem.classes.iter().fold(0u64, |sum, class| sum.saturating_add(class.files));
    let few = files <= FEW_FILES_MAX;
    if lost(&draft) > if few { FEW_ABOVE } else { IMPROVE_ABOVE } {
        improve(&mut draft, problem, domains, 1e-6);
    }
    if few && lost(&draft) > FEW_ABOVE {
        draft = best_start(draft, problem, domains);
    }
    Ok((draft, bound))
}

/// The relaxation's optimum, or what makes it impossible.
fn relax<'a>(
    problem: &Problem,
    domains: &'a Domains,
    blocks: Blocks,
) -> Result<(Relaxation<'a>, Vec<Vec<Shape>>), PlanError> {
    let shapes = blocks.shapes.clone();
    let mut relaxation = Relaxation::new(problem, domains, blocks, Goal::Latency);
    relaxation.run(relaxation_gap(&relaxation));
    let field = &relaxation.field;
    let used = field.loads.iter().zip(&field.curves).map(|(load, curve)| load / curve.load_max());
    if used.clone().any(|used| used > 1.0) {
        return Err(overload(problem, domains, relaxation));
    }
    if field.limited() && field.overflow() > 1e-3 {
        let mut test = Relaxation::new(problem, domains, relaxation.blocks, Goal::Overflow);
        test.run(1e-6);
        if test.field.overflow() > 1e-6 {
            return Err(missing_bytes(&test.field.bytes, problem));
        }
        let blocks = Blocks::new(problem, domains, None)?;
        relaxation = Relaxation::new(problem, domains, blocks, Goal::Latency);
        relaxation.run(relaxation_gap(&relaxation));
    }
    Ok((relaxation, shapes))
}

/// Whole files, where they fit, with the best probabilities.
fn whole(
    problem: &Problem,
    domains: &Domains,
    relaxation: Relaxation<'_>,
    shapes: &[Vec<Shape>],
) -> Result<Draft, PlanError> {
    let mut draft = round(relaxation);
    if !fit(&mut draft, problem, domains, shapes) {
        return Err(missing_bytes(&draft.field.bytes, problem));
    }
    draft.field.forget_capacities();
    draft.settle(1e-8);
    draft.recount();
    Ok(draft)
}

fn bound(problem: &Problem, relaxation: &mut Relaxation<'_>) -> f64 {
    let value = relaxation.field.value();
    let rest = relaxation.cheapest_price() - relaxation.field.dual_slack();
    let (prices, loads) = (relaxation.field.slopes.clone(), relaxation.field.loads.clone());
    relaxation.field.slopes.fill(0.0);
    let bytes = core::mem::take(&mut relaxation.field.byte_prices);
    relaxation.field.byte_prices = alloc::vec![0.0; bytes.len()];
    let least = relaxation.cheapest_price();
    (relaxation.field.slopes, relaxation.field.byte_prices) = (prices, bytes);
    let field = &relaxation.field;
    let mut rates = alloc::vec![0.0; problem.nodes.len()];
    for block in &relaxation.blocks.blocks {
        block.nodes.iter().for_each(|&node| rates[usize::from(node)] += block.rate);
    }
    let most = most_loads(&field.curves, &rates);
    let total = problem.chunk_rate();
    let chunks = if total > 0.0 { total / problem.rate() } else { 1.0 };
    let mut dual = Dual::new(&field.curves, &field.slopes, total, &most, chunks, &loads);
    dual.over_z(field.z, value, rest, least, 1e-5 * value) - ROUNDING * value
}

fn overload(problem: &Problem, domains: &Domains, relaxation: Relaxation<'_>) -> PlanError {
    let mut loads = relaxation.field.loads.clone();
    let mut test = Relaxation::new(problem, domains, relaxation.blocks, Goal::Overload);
    test.run(1e-6);
    let over = |loads: &[f64]| -> f64 {
        let nodes = loads.iter().zip(&problem.nodes);
        nodes.map(|(load, node)| (load - UTILISATION_MAX * node.service.rate()).max(0.0)).sum()
    };
    if over(&test.field.loads) > 1e-9 * problem.chunk_rate() {
        loads = test.field.loads;
    }
    let used = |node: usize| loads[node] / problem.nodes[node].service.rate();
    let node = (0..loads.len()).max_by(|&a, &b| used(a).total_cmp(&used(b))).unwrap_or(0);
    let chunks_per_second_missing = over(&loads);
    PlanError::Overload { node, utilisation: used(node), chunks_per_second_missing }
}

fn missing_bytes(bytes: &[f64], problem: &Problem) -> PlanError {
    let over = |node: usize| (bytes[node] - problem.nodes[node].capacity_bytes as f64).max(0.0);
    let nodes = 0..bytes.len();
    let node = nodes.clone().max_by(|&a, &b| over(a).total_cmp(&over(b))).unwrap_or(0);
    let bytes_missing = nodes.map(over).sum::<f64>() as u64;
    PlanError::MissingBytes { node, over_bytes: over(node) as u64, bytes_missing }
}

fn check_previous(problem: &Problem, previous: &Plan) -> Result<(), PlanError> {
    let (classes, nodes) = (previous.classes.len(), previous.loads.len());
    let groups = previous.classes.iter().flatten();
    let known = |group: &Group| {
        group.nodes.len() == group.probabilities.len()
            && group.nodes.iter().all(|&node| usize::from(node) < problem.nodes.len())
    };
    if classes == problem.classes.len() && nodes <= problem.nodes.len() && groups.clone().all(known)
    {
        Ok(())
    } else {
        Err(PlanError::OtherPlan { classes, nodes })
    }
}
