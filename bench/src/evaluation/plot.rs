//! Line plots with a logarithmic axis, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
const MARKER: f64 = 5.0;

/// Colours that people with any kind of sight can tell apart (Okabe and Ito), with a shape for
/// each.
const STYLES: [(&str, Shape); 4] = [
    ("#000000", Shape::Circle),
    ("#d55e00", Shape::Square),
    ("#0072b2", Shape::Triangle),
    ("#009e73", Shape::Diamond),
];

#[derive(Clone, Copy)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub(super) struct Line {
    name: &'static str,
    points: Vec<(u32, u64)>,
}

impl Line {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            points: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, x: u32, y: u64) {
        self.points.push((x, y));
    }
}

/// A plot of at most four lines.
pub(super) struct Plot<'p> {
    pub(super) title: &'p str,
    pub(super) x: &'p str,
    pub(super) y: &'p str,
    pub(super) lines: &'p [Line],
}

/// What the axes show: all whole numbers on the one, all powers of ten on the other.
struct Axes {
    first: u32,
    last: u32,
    decades: u32,
}

impl Axes {
    fn of(lines: &[Line]) -> Self {
        let points = || lines.iter().flat_map(|line| &line.points);
        let highest = points().map(|&(_, y)| y).max().unwrap_or(1).max(2);
        let first = points().map(|&(x, _)| x).min().unwrap_or(0);
        let last = points().map(|&(x, _)| x).max().unwrap_or(1);
        Self {
            first,
            last: last.max(first + 1),
            decades: (highest - 1).ilog10() + 1,
        }
    }

    fn x(&self, x: u32) -> f64 {
        let part = f64::from(x - self.first) / f64::from(self.last - self.first);
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, y: u64) -> f64 {
        let part = (y.max(1) as f64).log10() / f64::from(self.decades);
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }
}

impl Plot<'_> {
    /// It brings its own white background, so that it can be read on any.
    pub(super) fn svg(&self) -> String {
        let axes = Axes::of(self.lines);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"#fff\"/>\n"
        );
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        text(&mut svg, middle, 28.0, "middle", self.title);
        text(&mut svg, middle, HEIGHT - 16.0, "middle", self.x);
        text(&mut svg, LEFT, TOP - 12.0, "end", self.y);
        self.grid(&axes, &mut svg);
        for (position, line) in self.lines.iter().enumerate() {
            let (colour, shape) = STYLES[position % STYLES.len()];
            curve(&axes, line, colour, shape, &mut svg);
            let y = TOP + 10.0 + 24.0 * position as f64;
            let x = WIDTH - RIGHT + 24.0;
            marker(&mut svg, x, y, colour, shape);
            text(&mut svg, x + 14.0, y + 4.5, "start", line.name);
        }
        svg + "</svg>\n"
    }

    fn grid(&self, axes: &Axes, svg: &mut String) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for decade in 0..=axes.decades {
            let value = 10_u64.pow(decade);
            let y = axes.y(value);
            segment(svg, (LEFT, y), (right, y));
            let label = crate::table::grouped(value);
            text(svg, LEFT - 8.0, y + 4.5, "end", &label);
        }
        for x in axes.first..=axes.last {
            let (position, label) = (axes.x(x), x.to_string());
            segment(svg, (position, bottom), (position, bottom + 5.0));
            text(svg, position, bottom + 20.0, "middle", &label);
        }
    }
}

fn curve(axes: &Axes, line: &Line, colour: &str, shape: Shape, svg: &mut String) {
    let points = line.points.iter().map(|&(x, y)| (axes.x(x), axes.y(y)));
    let path: Vec<String> = points
        .clone()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let path = path.join(" ");
    put(
        svg,
        &format!(
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        ),
    );
    for (x, y) in points {
        marker(svg, x, y, colour, shape);
    }
}

fn marker(svg: &mut String, x: f64, y: f64, colour: &str, shape: Shape) {
    let corners = |offsets: &[(f64, f64)]| {
        let corner = |(dx, dy): &(f64, f64)| format!("{:.1},{:.1}", x + dx, y + dy);
        let corners: Vec<String> = offsets.iter().map(corner).collect();
        format!(
            "<polygon points=\"{}\" fill=\"{colour}\"/>",
            corners.join(" ")
        )
    };
    let m = MARKER;
    let element = match shape {
        Shape::Circle => {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{m}\" fill=\"{colour}\"/>")
        }
        Shape::Square => corners(&[(-m, -m), (m, -m), (m, m), (-m, m)]),
        Shape::Triangle => corners(&[(0.0, -m), (m, m), (-m, m)]),
        Shape::Diamond => corners(&[(0.0, -m), (m, 0.0), (0.0, m), (-m, 0.0)]),
    };
    put(svg, &element);
}

fn segment(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    put(
        svg,
        &format!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#bbb\"/>",
            from.0, from.1, to.0, to.1
        ),
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    put(
        svg,
        &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"),
    );
}

fn put(svg: &mut String, element: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "{element}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_hold_all_points() {
        let mut line = Line::new("full");
        line.add(2, 1);
        line.add(4, 1_000);
        let axes = Axes::of(&[line]);
        assert_eq!((axes.first, axes.last, axes.decades), (2, 4, 3));
        assert_eq!((axes.x(2), axes.x(4)), (LEFT, WIDTH - RIGHT));
        assert_eq!((axes.y(1), axes.y(1_000)), (HEIGHT - BOTTOM, TOP));
    }

    #[test]
    fn a_plot_without_points_is_still_one() {
        let plot = Plot {
            title: "nothing",
            x: "x",
            y: "y",
            lines: &[],
        };
        assert!(plot.svg().ends_with("</svg>\n"));
    }
}
