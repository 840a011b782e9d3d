// Port of `splitk_matmul.py`: a matrix product whose inner dimension is split over blocks.

#[cutile::module]
pub mod splitk_matmul {
    use cutile::core::*;

    const WORK_LATENCY: i32 = 2;

    /// Tile (`row`, `column`). Not `tiles.load`: it would check at run time what the bounds of the
    /// loop over K ensure.
    fn load<E: ElementType, const ROWS: i32, const COLUMNS: i32>(
        tiles: &Partition<E, { [ROWS, COLUMNS] }>,
        row: i32,
        column: i32,
    ) -> Tile<E, { [ROWS, COLUMNS] }> {
        load_view_tko(
            tiles,
            [row, column],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        )
    }

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,), sm_100 = (occupancy = 1,)))]
    pub fn splitk_partial<
        E: ElementType,
        const TILE_M: i32,
        const TILE_N: i32,
        const TILE_K: i32,
        const N: i32,
        const K: i32,
        const SPLITS: i32,
        const USE_TF32: bool,
    >(
        a: &Tensor<E, { [-1, K] }>,
        b: &Tensor<E, { [-1, N] }>,
        work: &Tensor<f32, { [-1, -1, N] }>,
    ) {
        // Not `program_id`: for axis 2 that leaves an assertion in the kernel.
        let (m, n, split): (i32, i32, i32) = get_tile_block_id();

        let tiles: i32 = ceil_div(K, TILE_K);
        let share: i32 = ceil_div(tiles, SPLITS);
        let first: i32 = split * share;
        let mut acc: Tile<f32, { [TILE_M, TILE_N] }> = constant(0.0, shape![TILE_M, TILE_N]);
        // `partition` pads with zeros, as the end of K needs it: 0 * NaN is NaN.
        let a_tiles: Partition<E, { [TILE_M, TILE_K] }> = a.partition(shape![TILE_M, TILE_K]);
        let b_tiles: Partition<E, { [TILE_K, TILE_N] }> = b.partition(shape![TILE_K, TILE_N]);
        for k in first..min(first + share, tiles) {
            let a_tile: Tile<E, { [TILE_M, TILE_K] }> = load(&a_tiles, m, k);
            let b_tile: Tile<E, { [TILE_K, TILE_N] }> = load(&b_tiles, k, n);
            if USE_TF32 {
                let a_tile: Tile<tf32, { [TILE_M, TILE_K] }> = convert_tile(a_tile);
                let b_tile: Tile<tf32, { [TILE_K, TILE_N] }> = convert_tile(b_tile);
                acc = mma(a_tile, b_tile, acc);
            } else {
                acc = mma(a_tile, b_tile, acc);
            }
        }

        let part: Tile<f32, { [1, TILE_M, TILE_N] }> = acc.reshape(shape![1, TILE_M, TILE_N]);
        // SAFETY: a block stores to its own tile only.
        let mut work_tiles: PartitionMut<f32, { [1, TILE_M, TILE_N] }> =
            unsafe { work.partition_full_mut(shape![1, TILE_M, TILE_N]) };
        work_tiles.store(part, [split, m, n]);
    }

    #[cutile::entry()]
    pub fn splitk_reduce<
        E: ElementType,
        const TILE_M: i32,
        const TILE_N: i32,
        const TILE_S: i32,
        const N: i32,
    >(
        work: &Tensor<f32, { [-1, -1, N] }>,
        c: &Tensor<E, { [-1, N] }>,
    ) {
        let m: i32 = program_id(0);
        let n: i32 = program_id(1);
        // TILE_S may be more than SPLITS: what lies behind them reads as zeros.
        let work_tiles: Partition<f32, { [TILE_S, TILE_M, TILE_N] }> =
            work.partition(shape![TILE_S, TILE_M, TILE_N]);
        let parts: Tile<f32, { [TILE_S, TILE_M, TILE_N] }> =
            work_tiles.load_pipelined::<WORK_LATENCY>([0, m, n]);
        let sum: Tile<f32, { [TILE_M, TILE_N] }> = reduce_sum(parts, 0);
        let c_tile: Tile<E, { [TILE_M, TILE_N] }> = convert_tile(sum);
        // SAFETY: a block stores to its own tile only.
        let mut c_tiles: PartitionMut<E, { [TILE_M, TILE_N] }> =
            unsafe { c.partition_full_mut(shape![TILE_M, TILE_N]) };
        c_tiles.store(c_tile, [m, n]);
    }
}
