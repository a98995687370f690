//! COLLAR with weights: the model of COLLAR, whose packets count by class.

use fairdrop::CollarWParams;

use crate::collar::CollarModel;
use crate::slow::Slow;

pub fn reference(params: CollarWParams) -> Option<Box<dyn Slow>> {
    Some(Box::new(CollarModel::weighted(params.collar, params.weights)))
}
