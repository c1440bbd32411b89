//! Tests of procedures against simulated devices.

mod bias;
mod capacity;
mod churn;
mod clock;
mod cost;
mod device;
mod direction_ratio;
mod dns;
mod fixture;
mod frame_loss;
mod mlr;
mod no_rate;
mod overload;
mod popularity;
mod properties;
mod replay;
mod search;
mod search_options;
mod second_opinion;
mod tcp;
mod timing;
mod truth;
mod warm_up;
