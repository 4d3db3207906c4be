//! Logistic regression of right answers, with coefficients that are drawn to prior values.

/// An answer: its features that are not 0, by the numbers of their coefficients, and its weight.
#[derive(Clone, Debug)]
pub struct Row {
    pub features: Vec<(usize, f64)>,
    pub is_right: bool,
    pub weight: f64,
}

/// What is known of a coefficient before any answer.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    pub value: f64,
    /// The reciprocal of its variance.
    pub precision: f64,
}

/// Newton's method converges quadratically; the logarithm of the posterior is concave.
const STEPS: usize = 12;

/// The coefficients with the greatest posterior probability.
pub fn fit<'a>(rows: &(impl Iterator<Item = &'a Row> + Clone), priors: &[Prior]) -> Vec<f64> {
    let mut found: Vec<f64> = priors.iter().map(|it| it.value).collect();
    for _ in 0..STEPS {
        let mut slope: Vec<f64> = vec![0.0; priors.len()];
        let mut curvature = vec![vec![0.0; priors.len()]; priors.len()];
        for row in rows.clone() {
            let probability = probability(&row.features, &found);
            let error = row.weight * (f64::from(u8::from(row.is_right)) - probability);
            let spread = row.weight * (probability * (1.0 - probability)).max(1e-6);
            for (at, value) in &row.features {
                slope[*at] += error * value;
                for (other, times) in &row.features {
                    curvature[*at][*other] += spread * value * times;
                }
            }
        }
        for (at, prior) in priors.iter().enumerate() {
            slope[at] -= prior.precision * (found[at] - prior.value);
            curvature[at][at] += prior.precision;
        }
        for (coefficient, step) in found.iter_mut().zip(solve(curvature, slope)) {
            *coefficient += step;
        }
    }
    found
}

/// Probability of a right answer with these features.
pub fn probability(features: &[(usize, f64)], coefficients: &[f64]) -> f64 {
    let odds: f64 = features
        .iter()
        .map(|(at, value)| value * coefficients[*at])
        .sum();
    1.0 / (1.0 + (-odds).exp())
}

/// Solution of the linear equations by elimination. The matrix is positive definite, so no pivot is 0.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for at in 0..size {
        let pivot = matrix[at].clone();
        for below in at + 1..size {
            let factor = matrix[below][at] / pivot[at];
            if factor != 0.0 {
                for (value, above) in matrix[below].iter_mut().zip(&pivot).skip(at) {
                    *value -= factor * above;
                }
                right[below] -= factor * right[at];
            }
        }
    }
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size)
            .map(|other| matrix[at][other] * right[other])
            .sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(right: usize, of: usize, feature: usize) -> Vec<Row> {
        let row = |at| Row {
            features: vec![(0, 1.0), (feature, 1.0)],
            is_right: at < right,
            weight: 1.0,
        };
        (0..of).map(row).collect()
    }

    const LOOSE: Prior = Prior {
        value: 0.0,
        precision: 1e-6,
    };

    #[test]
    fn the_fit_gives_the_share_of_right_answers() {
        let all = [rows(30, 40, 1), rows(5, 10, 2)].concat();
        let tight = Prior {
            value: 0.0,
            precision: 1e6,
        };
        let found = fit(&all.iter(), &[LOOSE, LOOSE, tight]);
        let share = |feature| probability(&[(0, 1.0), (feature, 1.0)], &found);
        assert!((share(1) - 0.75).abs() < 1e-3, "{found:?}");
        assert!((share(2) - 0.5).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn few_answers_move_a_coefficient_less_than_many() {
        let prior = Prior {
            value: 0.0,
            precision: 4.0,
        };
        let of = |answers: usize| {
            let all = [rows(50, 100, 1), rows(answers, answers, 2)].concat();
            fit(&all.iter(), &[LOOSE, LOOSE, prior])[2]
        };
        assert!(of(1) > 0.0 && of(1) < of(20), "{} {}", of(1), of(20));
    }
}
