//! A chart of a sweep: the means of a metric over a swept parameter, with their intervals.

use crate::drawing::spoken;
use crate::escaping::escaped;
use crate::figure::{Scale, four_digits};
use crate::metrics::{bare_name, unit_of_values};
use crate::result_file::{ResultFile, late};
use crate::sweep::SweepReport;
use parades_core::metrics::Estimate;
use parades_session::Failure;
use parades_session::sweep::{SweepPlan, full_name};
use parades_sweep::results::cell;
use plotters::prelude::*;
use serde_json::Value;
use std::io::{self, Write};
use std::ops::Range;

/// The width and height of a chart, in pixels.
const SIZE: (u32, u32) = (720, 440);
/// The colours of the lines. Further lines have the same colours again.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 86, 86),
];

/// The means at the points that differ in the first swept parameter alone.
struct Line {
    /// The values of the other swept parameters: `rate=4Mbps`.
    name: String,
    /// The value of the first swept parameter, and the lower end, middle and upper end of the interval.
    points: Vec<(f64, [f64; 3])>,
}

/// Checks, before a sweep, that there can be a chart of it.
///
/// # Errors
///
/// [`Failure::Input`] if no single metric was asked for, or if the first swept parameter has no numbers.
pub fn check_plot(plan: &SweepPlan) -> Result<(), Failure> {
    if plan.request.metrics.len() != 1 {
        return Err(Failure::usage("--plot: a chart shows one metric", "name it by one `--metric`"));
    }
    let mut first = plan.swept_numbers().into_iter().map(|point| point.into_iter().next());
    if first.all(|value| value.is_some_and(|value| value.is_number())) {
        return Ok(());
    }
    let message = "--plot: a chart needs a swept parameter that is a number";
    Err(Failure::usage(message, "sweep over one by `--set KEY=A,B,…`; the first one is the x-axis"))
}

impl SweepReport<'_> {
    /// Writes the chart of a sweep that [`check_plot`] has checked, as an SVG file.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if the file cannot be written, or if the metric has no mean at any point.
    pub fn write_plot(&self, mut file: ResultFile) -> Result<(), Failure> {
        let plan = self.plan();
        let metric = full_name(&plan.request.metrics[0], self.results().metrics())?;
        let means = self.results().points().flat_map(|point| point.intervals);
        let scale = Scale::of(unit_of_values(&metric), means.filter(|x| x.metric == metric).map(|x| x.estimate.mean));
        let lines = self.lines(&metric, &scale);
        if lines.is_empty() {
            return Err(Failure::simulation(format!("{metric} has no mean at any point, so there is no chart")));
        }
        let name = spoken(&bare_name(&metric));
        let y = if scale.name().is_empty() { name } else { format!("{name} ({})", scale.name()) };
        let svg = draw(&lines, &spoken(&self.results().keys()[0]), &escaped(&y));
        let svg = svg.map_err(|error| Failure::simulation(format!("the chart cannot be drawn: {error}")))?;
        file.write_all(svg.as_bytes()).map_err(|error| late(&error))?;
        file.finish()
    }

    /// Returns the lines of the chart, in the order of the grid.
    fn lines(&self, metric: &str, scale: &Scale) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for (point, numbers) in self.results().points().zip(self.plan().swept_numbers()) {
            let found = point.intervals.iter().find(|interval| interval.metric == metric);
            let (Some(interval), Some(x)) = (found, numbers[0].as_f64()) else { continue };
            let Estimate { mean, half_width, .. } = interval.estimate;
            let half_width = half_width.unwrap_or(0.0);
            let name = line_name(&self.results().keys()[1..], &point.values[1..]);
            let ends = [mean - half_width, mean, mean + half_width].map(|y| scale.in_unit(y));
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push((x, ends)),
                None => lines.push(Line { name, points: vec![(x, ends)] }),
            }
        }
        lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        lines
    }
}

/// Returns the name of the line at these values of the other swept parameters.
fn line_name(keys: &[String], values: &[Value]) -> String {
    let names = keys.iter().zip(values).map(|(key, value)| spoken(&format!("{key}={}", cell(value))));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the range of some values, with some room at both ends. It has 0 where `with_zero` asks for it and
/// no value is below.
fn range(values: impl Iterator<Item = f64> + Clone, with_zero: bool) -> Range<f64> {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
    let low = if with_zero && low > 0.0 { 0.0 } else { low };
    let room = if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.5 };
    let below = if with_zero && low >= 0.0 { 0.0 } else { room };
    low - below..high + room
}

/// Draws the chart. `x` and `y` are the titles of the axes.
fn draw(lines: &[Line], x: &str, y: &str) -> io::Result<String> {
    let mut text = String::new();
    draw_on(&mut text, lines, x, y).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(text)
}

fn draw_on(text: &mut String, lines: &[Line], x: &str, y: &str) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let points = lines.iter().flat_map(|line| &line.points);
    let across = range(points.clone().map(|(x, _)| *x), false);
    let up = range(points.flat_map(|(_, ends)| *ends), true);
    let mut builder = ChartBuilder::on(&root);
    builder.margin(16).x_label_area_size(44).y_label_area_size(64);
    let mut chart = builder.build_cartesian_2d(across, up)?;
    let number = |x: &f64| four_digits(*x);
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc(x).y_desc(y).label_style(("sans-serif", 13)).axis_desc_style(("sans-serif", 15)).draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let means = line.points.iter().map(|&(x, [_, mean, _])| (x, mean));
        chart
            .draw_series(LineSeries::new(means, colour.stroke_width(2)))?
            .label(line.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        let bar =
            |&(x, [low, mean, high]): &(f64, [f64; 3])| ErrorBar::new_vertical(x, low, mean, high, colour.filled(), 10);
        chart.draw_series(line.points.iter().map(bar))?;
    }
    if lines.len() > 1 {
        let mut legend = chart.configure_series_labels();
        legend.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8));
        legend.border_style(BLACK.mix(0.3)).label_font(("sans-serif", 13)).draw()?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_axes_a_mark_for_each_mean_and_a_name_for_each_line() {
        let line = |name: &str, shift: f64| Line {
            name: name.into(),
            points: vec![(1.0, [shift, shift + 1.0, shift + 2.0]), (4.0, [shift, shift + 3.0, shift + 6.0])],
        };
        let svg = draw(&[line("jobs=1", 0.0), line("jobs=<2>", 5.0)], "rate", "delay (ms)").expect("it is drawn");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for text in ["rate", "delay (ms)", "jobs=1", "jobs=&lt;2&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("<circle").count(), 4, "a mark for each mean");
    }

    #[test]
    fn axes_have_zero_or_room_below_the_least_value() {
        assert_eq!(range([2.0, 4.0].into_iter(), true), 0.0..4.2);
        assert_eq!(range([-2.0, 2.0].into_iter(), true), -2.2..2.2);
        assert_eq!(range([1.0].into_iter(), false), 0.5..1.5);
    }
}
