//! Tests of the method: verdicts rule by rule, and procedures against simulated devices.

mod bias;
mod capacity;
mod churn;
mod cost;
mod direction_ratio;
mod dns;
mod frame_loss;
mod mlr;
mod properties;
mod replay;
mod search;
mod search_options;
mod second_opinion;
mod timing;
mod truth;
mod validity;
