// Port of `softmax.py`: softmax over the last dimension, of a row in one tile and of a long row.

#[cutile::module]
pub mod softmax {
    use cutile::core::*;

    const LOG2_E: f32 = 1.4426950408889634;
    const CHUNK_LATENCY: i32 = 3;

    /// The greatest element of a row; NaN is passed over.
    fn row_max<const TILE_N: i32>(row: Tile<f32, { [1, TILE_N] }>) -> Tile<f32, { [1, 1] }> {
        let found: Tile<f32, { [1] }> = reduce_max(row, 1);
        found.reshape(shape![1, 1])
    }

    fn row_sum<const TILE_N: i32>(row: Tile<f32, { [1, TILE_N] }>) -> Tile<f32, { [1, 1] }> {
        let sum: Tile<f32, { [1] }> = reduce_sum(row, 1);
        sum.reshape(shape![1, 1])
    }

    /// exp(x), as a power of two.
    fn natural_exp<const W: i32>(x: Tile<f32, { [1, W] }>) -> Tile<f32, { [1, W] }> {
        exp2(x * LOG2_E.broadcast(shape![1, W]), ftz::Disabled)
    }

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 4,), sm_100 = (occupancy = 2,)))]
    pub fn softmax_row<E: ElementType, const N: i32, const TILE_N: i32>(
        x: &Tensor<E, { [-1, N] }>,
        y: &Tensor<E, { [-1, N] }>,
    ) {
        let row: i32 = program_id(0);
        // SAFETY: nothing writes `x`.
        let x_tiles: Partition<E, { [1, TILE_N] }> = unsafe {
            make_partition_view(
                x,
                shape![1, TILE_N],
                padding::NegInf,
                dim_map::Identity,
                x.token(),
            )
        };
        let tile: Tile<f32, { [1, TILE_N] }> = convert_tile(x_tiles.load([row, 0]));
        let e: Tile<f32, { [1, TILE_N] }> =
            natural_exp(tile - row_max(tile).broadcast(shape![1, TILE_N]));
        let one: Tile<f32, { [1, 1] }> = constant(1.0, shape![1, 1]);
        let scale: Tile<f32, { [1, 1] }> = one / row_sum(e);
        let y_tile: Tile<E, { [1, TILE_N] }> = convert_tile(e * scale.broadcast(shape![1, TILE_N]));
        // SAFETY: a block stores to its own row only.
        let mut y_tiles: PartitionMut<E, { [1, TILE_N] }> =
            unsafe { y.partition_full_mut(shape![1, TILE_N]) };
        y_tiles.store(y_tile, [row, 0]);
    }

    /// Chunks of rows; what lies behind a row reads as minus infinity.
    fn chunks_of<E: ElementType, const TILE_N: i32>(
        x: &Tensor<E, { [-1, -1] }>,
    ) -> Partition<E, { [1, TILE_N] }> {
        // SAFETY: nothing writes `x`.
        let chunks: Partition<E, { [1, TILE_N] }> = unsafe {
            make_partition_view(
                x,
                shape![1, TILE_N],
                padding::NegInf,
                dim_map::Identity,
                x.token(),
            )
        };
        chunks
    }

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,), sm_100 = (occupancy = 1,)))]
    pub fn softmax_online<E: ElementType, const TILE_N: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        y: &Tensor<E, { [-1, -1] }>,
    ) {
        let row: i32 = program_id(0);
        let chunks: Partition<E, { [1, TILE_N] }> = chunks_of::<E, TILE_N>(x);
        let count: i32 = num_tiles(&chunks, 1);

        let lowest: Tile<f32, { [1, 1] }> = constant(f32::NEG_INFINITY, shape![1, 1]);
        let zero: Tile<f32, { [1, 1] }> = constant(0.0, shape![1, 1]);
        let mut peak: Tile<f32, { [1, 1] }> = lowest;
        let mut total: Tile<f32, { [1, 1] }> = zero;
        for j in 0..count {
            let chunk: Tile<f32, { [1, TILE_N] }> =
                convert_tile(chunks.load_pipelined::<CHUNK_LATENCY>([row, j]));
            let peak_new: Tile<f32, { [1, 1] }> = max_tile(peak, row_max(chunk));
            // Nothing but minus infinity so far: subtract 0, for inf - inf is NaN.
            let base: Tile<f32, { [1, 1] }> = select(gt_tile(peak_new, lowest), peak_new, zero);
            let e: Tile<f32, { [1, TILE_N] }> =
                natural_exp(chunk - base.broadcast(shape![1, TILE_N]));
            total = fma(
                total,
                natural_exp(peak - base),
                row_sum(e),
                rounding::NearestEven,
                ftz::Disabled,
            );
            peak = peak_new;
        }

        let one: Tile<f32, { [1, 1] }> = constant(1.0, shape![1, 1]);
        let scale: Tile<f32, { [1, 1] }> = one / total;
        // SAFETY: a block stores to its own row only.
        let mut y_tiles: PartitionMut<E, { [1, TILE_N] }> =
            unsafe { y.partition_full_mut(shape![1, TILE_N]) };
        // Python makes a view for each loop.
        let chunks: Partition<E, { [1, TILE_N] }> = chunks_of::<E, TILE_N>(x);
        for j in 0..count {
            let chunk: Tile<f32, { [1, TILE_N] }> =
                convert_tile(chunks.load_pipelined::<CHUNK_LATENCY>([row, j]));
            let e: Tile<f32, { [1, TILE_N] }> =
                natural_exp(chunk - peak.broadcast(shape![1, TILE_N]));
            let y_tile: Tile<E, { [1, TILE_N] }> =
                convert_tile(e * scale.broadcast(shape![1, TILE_N]));
            y_tiles.store(y_tile, [row, j]);
        }
    }
}
