//! Derivatives, convexity, exact choices: what the descent and the certificate rest on.

extern crate std;

use crate::{
    Class, Problem, Service, StorageNode, StorageNodeState,
    certificate::{Dual, most_loads},
    choice::{Chooser, Role},
    curve::{Curve, best_z},
    domain::Domains,
};
use alloc::{vec, vec::Vec};
use ripstop_delay::Dice;

fn any_service(dice: &mut Dice) -> Service {
    // Third moments up to far above the least, where G of Lemma 6 is concave.
    let mean = 0.2 + 2.0 * dice.uniform();
    let second = mean * mean * (1.0 + libm::pow(10.0, 3.0 * dice.uniform() - 2.0));
    let third = second * second / mean * libm::pow(10.0, 4.0 * dice.uniform());
    Service::new(mean, second, third).unwrap()
}

#[test]
fn a_curve_s_derivatives_are_those_of_its_value_and_it_is_convex() {
    let mut dice = Dice::new(1);
    let mut least = f64::INFINITY;
    for _ in 0..20_000 {
        let service = any_service(&mut dice);
        let curve = Curve::new(&service, 1.0);
        let load = 0.98 * dice.uniform() / service.mean();
        let z = (4.0 * dice.uniform() - 1.0) * service.mean() / (1.0 - 0.9 * dice.uniform());
        let here = curve.at(load, z);
        let step = 1e-5 * (1.0 / service.mean() - load);
        let (below, above) = (curve.at(load - step, z), curve.at(load + step, z));
        let slope = (above.value - below.value) / (2.0 * step);
        let curvature = (above.slope - below.slope) / (2.0 * step);
        let scale = here.slope.abs() + here.value.abs() / step * 1e-9;
        assert!((slope - here.slope).abs() <= 1e-4 * scale, "{slope} {here:?}");
        let scale = here.curvature.abs() + here.slope.abs() / step * 1e-9;
        assert!((curvature - here.curvature).abs() <= 1e-3 * scale, "{curvature} {here:?}");
        least = least.min(here.curvature * service.rate() / here.slope);
    }
    assert!(least > 0.0, "{least}");
}

#[test]
fn lemma_6_s_g_is_not_convex_where_the_term_is() {
    // G = 2λ̂F/Λ at z = E X: Y is nearly linear in the load, X nearly constant.
    let service = Service::new(1.0, 1.01, 1000.0).unwrap();
    let curve = Curve::new(&service, 0.5);
    let g = |load: f64| curve.at(load, 1.0).value / load;
    assert!(g(0.02) > 0.5 * (g(0.01) + g(0.03)), "G is concave here");
    let f = |load: f64| curve.at(load, 1.0).value;
    assert!(f(0.02) < 0.5 * (f(0.01) + f(0.03)));
}

#[test]
fn the_bound_over_z_is_below_every_point() {
    let mut dice = Dice::new(2);
    for _ in 0..100 {
        let services: Vec<Service> = (0..4).map(|_| any_service(&mut dice)).collect();
        let rate = 0.3;
        let curves: Vec<Curve> = services.iter().map(|service| Curve::new(service, rate)).collect();
        let loads: Vec<f64> =
            services.iter().map(|service| (0.1 + 0.7 * dice.uniform()) / service.mean()).collect();
        let total: f64 = loads.iter().sum();
        if total < 1.1 * rate {
            continue;
        }
        let z = best_z(&curves, &loads);
        let prices: Vec<f64> =
            curves.iter().zip(&loads).map(|(curve, &load)| curve.at(load, z).slope).collect();
        let most = most_loads(&curves, &[total; 4]);
        let value = |loads: &[f64], z: f64| {
            let terms = curves.iter().zip(loads).zip(&prices);
            z + terms.map(|((curve, &load), p)| curve.at(load, z).value - p * load).sum::<f64>()
        };
        let rest: f64 = prices.iter().zip(&loads).map(|(p, load)| p * load).sum();
        let here = value(&loads, z) + rest;
        let mut dual = Dual::new(&curves, &prices, total, &most, total / rate, &loads);
        let bound = dual.over_z(z, here, rest, 0.0, 1e-5 * here);
        assert!(bound <= here * (1.0 + 1e-12));
        for _ in 0..1000 {
            // Other loads of the same sum, at other z.
            let (a, b) = (dice.below(4) as usize, dice.below(4) as usize);
            let mut other = loads.clone();
            let room = (0.999 / services[b].mean() - other[b]).min(other[a]);
            let far = room * dice.uniform();
            other[a] -= far;
            other[b] += far;
            let z = z * 3.0 * dice.uniform();
            let there = value(&other, z) + rest;
            assert!(there >= bound * (1.0 - 1e-9) || there > here, "{there} below {bound}");
        }
    }
}

fn problem(dice: &mut Dice, m: usize) -> Problem {
    let service = Service::from_mean_sd(1.0, 0.5, None).unwrap();
    let node = |at: usize| StorageNode {
        service,
        price_per_chunk: 1.0,
        price_per_byte: 0.0,
        site: (at % 4) as u16,
        vendor: (at % 4 / 2) as u16,
        capacity_bytes: u64::MAX,
        state: StorageNodeState::Up,
    };
    let class = Class {
        rate: 1.0,
        files: 1,
        k: 1 + dice.below(3) as u32,
        chunk_bytes: 1,
        survive_nodes: dice.below(3) as u32,
        survive_sites: dice.below(3) as u32,
        spread: dice.below(3) == 0,
    };
    Problem {
        nodes: (0..m).map(node).collect(),
        classes: vec![class],
        seconds_per_money: 0.0,
        seconds_per_moved_byte: 0.0,
    }
}

#[test]
fn the_chosen_placement_is_the_cheapest_of_all() {
    let mut dice = Dice::new(3);
    let (mut chosen, mut refused) = (0, 0);
    for _ in 0..600 {
        let m = 5 + dice.below(4) as usize;
        let problem = problem(&mut dice, m);
        let class = &problem.classes[0];
        let domains = Domains::new(&problem.nodes).unwrap();
        let mut chooser = Chooser::new(m);
        for node in 0..m {
            chooser.store[node] = dice.uniform() * libm::floor(3.0 * dice.uniform());
            chooser.serve[node] = dice.uniform();
        }
        // Every set of nodes that keeps the promises, served by its cheapest.
        let mut best = f64::INFINITY;
        for set in 1u32..1 << m {
            let nodes: Vec<u16> = (0..m as u16).filter(|node| set >> node & 1 == 1).collect();
            if !domains.admits(class, &nodes) {
                continue;
            }
            let mut serve: Vec<f64> =
                nodes.iter().map(|&node| chooser.serve[usize::from(node)]).collect();
            serve.sort_by(f64::total_cmp);
            let store: f64 = nodes.iter().map(|&node| chooser.store[usize::from(node)]).sum();
            best = best.min(store + serve[..class.k as usize].iter().sum::<f64>());
        }
        let nodes: Vec<u16> = (0..m as u16).collect();
        let Ok(shapes) = domains.shapes(&problem, 0, &vec![true; m]) else {
            assert!(best.is_infinite(), "{class:?}");
            refused += 1;
            continue;
        };
        let price = chooser.choose(&domains, &shapes, class.k as usize, &nodes);
        assert!((price - best).abs() < 1e-9, "{price} instead of {best}: {class:?}");
        let placed: Vec<u16> = nodes
            .into_iter()
            .filter(|&node| chooser.roles[usize::from(node)] != Role::Idle)
            .collect();
        assert!(domains.admits(class, &placed));
        chosen += 1;
    }
    assert!(chosen > 300 && refused > 20, "{chosen} {refused}");
}
