//! Port of `rms_norm.py`: RMS normalization of rows.

#[cutile::module]
pub mod rms_norm {
    use cutile::core::*;

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 4,), sm_100 = (occupancy = 2,)))]
    pub fn rms_norm_kernel<E: ElementType, W: ElementType, const TILE_N: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        weight: &Tensor<W, { [-1] }>,
        out: &Tensor<E, { [-1, -1] }>,
        eps: f32,
    ) {
        let row: i32 = program_id(0);
        let x_tile: Tile<E, { [1, TILE_N] }> = x.partition(shape![1, TILE_N]).load([row, 0]);
        let x_tile: Tile<f32, { [1, TILE_N] }> = convert_tile(x_tile);
        let w_tile: Tile<W, { [TILE_N] }> = weight.partition(shape![TILE_N]).load([0]);
        let w_tile: Tile<f32, { [TILE_N] }> = convert_tile(w_tile);

        let square_sum: Tile<f32, { [1] }> = reduce_sum(x_tile * x_tile, 1);
        let n: f32 = convert_scalar(x.shape()[1]);
        let mean_square: Tile<f32, { [1, 1] }> =
            square_sum.reshape(shape![1, 1]) / n.broadcast(shape![1, 1]);
        let scale: Tile<f32, { [1, 1] }> =
            rsqrt(mean_square + eps.broadcast(shape![1, 1]), ftz::Disabled);
        let normalized: Tile<f32, { [1, TILE_N] }> =
            x_tile * scale.broadcast(shape![1, TILE_N]) * w_tile.reshape(shape![1, TILE_N]);
        let result: Tile<E, { [1, TILE_N] }> = convert_tile(normalized);
        // SAFETY: each block stores its own row of `out`.
        let mut out_tiles: PartitionMut<E, { [1, TILE_N] }> =
            unsafe { out.partition_full_mut(shape![1, TILE_N]) };
        out_tiles.store(result, [row, 0]);
    }
}
