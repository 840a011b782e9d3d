//! A small attention kernel: online softmax over key tiles, the last one masked.

#[cutile::module]
pub mod attend {
    use cutile::core::*;

    const LOG2_E: f32 = 1.4426950408889634;

    fn scaled_max<const M: i32, const N: i32>(
        scores: Tile<f32, { [M, N] }>,
        scale: f32,
    ) -> Tile<f32, { [M, 1] }> {
        let best: Tile<f32, { [M] }> = reduce_max(scores, 1);
        let best: Tile<f32, { [M, 1] }> = best.reshape(shape![M, 1]);
        best * scale.broadcast(shape![M, 1])
    }

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,), sm_100 = (occupancy = 1,)))]
    pub fn attend<E: ElementType, const D: i32, const M: i32, const N: i32>(
        q: &Tensor<E, { [-1, -1, -1] }>,
        k: &Tensor<E, { [-1, -1, -1] }>,
        out: &mut Tensor<E, { [1, M, D] }>,
        scale: f32,
    ) {
        let row: i32 = program_id(1);
        let head: i32 = program_id(0);
        let q_tiles: Partition<E, { [1, M, D] }> = q.partition(shape![1, M, D]);
        let k_tiles: Partition<E, { [1, N, D] }> = k.partition(shape![1, N, D]);
        let tile: Tile<E, { [M, D] }> = q_tiles.load([head, row, 0]).reshape(shape![M, D]);
        let mut best: Tile<f32, { [M, 1] }> = constant(f32::NEG_INFINITY, shape![M, 1]);
        let mut acc: Tile<f32, { [M, D] }> = constant(0.0, shape![M, D]);
        let keys: i32 = k.shape()[1];
        for step in 0..ceil_div(keys, N) {
            let key: Tile<E, { [N, D] }> = k_tiles
                .load_pipelined::<3>([head, step, 0])
                .reshape(shape![N, D]);
            let zero: Tile<f32, { [M, N] }> = constant(0.0, shape![M, N]);
            let scores: Tile<f32, { [M, N] }> = mma(tile, key.transpose(), zero);
            let new: Tile<f32, { [M, 1] }> = max_tile(best, scaled_max(scores, scale * LOG2_E));
            let weight: Tile<f32, { [M, N] }> =
                exp2(scores - new.broadcast(shape![M, N]), ftz::Enabled);
            let weight: Tile<E, { [M, N] }> = convert_tile(weight);
            acc = mma(weight, key, acc);
            best = new;
        }
        let result: Tile<E, { [M, D] }> = convert_tile(acc);
        out.store(result.reshape(shape![1, M, D]));
    }
}
