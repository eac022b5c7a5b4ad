use super::svg::{Svg, px};

/// Okabe and Ito's colours (2008), told apart with any colour vision, without the yellow that white
/// swallows.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Dashes: one more than there are colours, so that pairs repeat late.
const DASHES: [&str; 8] =
    ["", "7 3", "2 2.5", "9 3 2 3", "13 4", "5 2 1.5 2 1.5 2", "1 2", "10 2 4 2"];
/// From dark to light with ever more yellow (after cividis): an order that any colour vision sees.
const SHADES: [(u8, u8, u8); 5] =
    [(0, 34, 78), (62, 78, 108), (123, 123, 120), (187, 173, 109), (254, 232, 101)];
const MARKERS: usize = 7;

pub(super) fn colour(style: usize) -> &'static str {
    COLOURS[style % COLOURS.len()]
}

pub(super) fn dashes(style: usize) -> &'static str {
    DASHES[style % DASHES.len()]
}

/// The colour of one of this many layers.
pub(super) fn shade(index: usize, count: usize) -> String {
    let last = SHADES.len() - 1;
    let share = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.3 };
    let at = share.clamp(0.0, 1.0) * last as f64;
    let lower = (at as usize).min(last - 1);
    let between = at - lower as f64;
    let mix = |low: u8, high: u8| {
        libm::round(f64::from(low) + (f64::from(high) - f64::from(low)) * between) as u8
    };
    let (low, high) = (SHADES[lower], SHADES[lower + 1]);
    format!("#{:02x}{:02x}{:02x}", mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2))
}

/// Draws a marker of a style around a point.
pub(super) fn mark(svg: &mut Svg, style: usize, (x, y): (f64, f64)) {
    let colour = colour(style);
    let at = |points: &[(f64, f64)]| {
        let points = points.iter().map(|(dx, dy)| [px(x + dx), px(y + dy)].join(","));
        points.collect::<Vec<_>>().join(" ")
    };
    let points = match style % MARKERS {
        0 => {
            svg.element(
                "circle",
                &[("cx", &px(x)), ("cy", &px(y)), ("r", "3.2"), ("fill", colour)],
            );
            return;
        }
        1 => at(&[(-2.9, -2.9), (2.9, -2.9), (2.9, 2.9), (-2.9, 2.9)]),
        2 => at(&[(0.0, -4.0), (3.8, 2.8), (-3.8, 2.8)]),
        3 => at(&[(0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0)]),
        4 => at(&[(0.0, 4.0), (3.8, -2.8), (-3.8, -2.8)]),
        5 => at(&[(-4.0, 0.0), (2.8, 3.8), (2.8, -3.8)]),
        _ => {
            let (x, y) = (px(x), px(y));
            let ring = [("cx", x.as_str()), ("cy", &y), ("r", "3"), ("fill", "#ffffff")];
            svg.element(
                "circle",
                &[&ring[..], &[("stroke", colour), ("stroke-width", "1.5")]].concat(),
            );
            return;
        }
    };
    svg.element("polygon", &[("points", &points), ("fill", colour)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_many_styles_look_alike() {
        for one in 0..56 {
            for other in 0..one {
                assert_ne!((colour(one), dashes(one)), (colour(other), dashes(other)));
            }
        }
    }

    #[test]
    fn shades_go_from_dark_to_light() {
        let shades: Vec<String> = (0..6).map(|index| shade(index, 6)).collect();
        assert_eq!((shades[0].as_str(), shades[5].as_str()), ("#00224e", "#fee865"));
        assert!(shades.is_sorted());
    }
}
