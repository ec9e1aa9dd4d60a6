//! What random operations found once, by the promise that was broken.
