// Port of `mla_decode.py`: multi-head latent attention decode, over a contiguous and over a paged
// KV cache. The Python file says what is computed and why; this one says it in Rust.

#[cutile::module]
pub mod mla_decode {
    use cutile::core::*;

    const LOG2_E: f32 = 1.4426950408889634;
    const LN_2: f32 = 0.6931471805599453;
    const KV_LATENCY: i32 = 4;

    /// `TILE_H` heads of sequence `b`; heads behind H read as zeros.
    fn load_heads<E: ElementType, const TILE_H: i32, const H: i32, const WIDTH: i32>(
        array: &Tensor<E, { [-1, H, WIDTH] }>,
        b: i32,
        h: i32,
    ) -> Tile<E, { [TILE_H, WIDTH] }> {
        let tiles: Partition<E, { [1, TILE_H, WIDTH] }> = array.partition(shape![1, TILE_H, WIDTH]);
        tiles.load([b, h, 0]).reshape(shape![TILE_H, WIDTH])
    }

    /// Dot products of every head with every cache row; `kpe` is (R, N).
    fn scores<E: ElementType, const TILE_H: i32, const N: i32, const D: i32, const R: i32>(
        q: Tile<E, { [TILE_H, D] }>,
        qpe: Tile<E, { [TILE_H, R] }>,
        kv: Tile<E, { [N, D] }>,
        kpe: Tile<E, { [R, N] }>,
    ) -> Tile<f32, { [TILE_H, N] }> {
        let s: Tile<f32, { [TILE_H, N] }> = constant(0.0, shape![TILE_H, N]);
        let s: Tile<f32, { [TILE_H, N] }> = mma(q, kv.transpose(), s);
        mma(qpe, kpe, s)
    }

    /// Takes the columns from `valid` on out of the softmax.
    fn mask<const TILE_H: i32, const N: i32>(
        s: Tile<f32, { [TILE_H, N] }>,
        valid: i32,
    ) -> Tile<f32, { [TILE_H, N] }> {
        let column: Tile<i32, { [N] }> = iota(shape![N]);
        let column: Tile<i32, { [1, N] }> = column.reshape(shape![1, N]);
        let keep: Tile<bool, { [1, N] }> = lt_tile(column, valid.broadcast(shape![1, N]));
        let out: Tile<f32, { [TILE_H, N] }> = constant(f32::NEG_INFINITY, shape![TILE_H, N]);
        select(keep.broadcast(shape![TILE_H, N]), s, out)
    }

    /// One step of the online softmax, in powers of two: new maximum, sum and accumulator.
    fn update<E: ElementType, const TILE_H: i32, const N: i32, const D: i32>(
        s: Tile<f32, { [TILE_H, N] }>,
        kv: Tile<E, { [N, D] }>,
        qk_scale: f32,
        peak: Tile<f32, { [TILE_H] }>,
        total: Tile<f32, { [TILE_H] }>,
        acc: Tile<f32, { [TILE_H, D] }>,
    ) -> (
        Tile<f32, { [TILE_H] }>,
        Tile<f32, { [TILE_H] }>,
        Tile<f32, { [TILE_H, D] }>,
    ) {
        let s_max: Tile<f32, { [TILE_H] }> = reduce_max(s, 1);
        let peak_new: Tile<f32, { [TILE_H] }> =
            max_tile(peak, s_max * qk_scale.broadcast(shape![TILE_H]));
        let peak_cols: Tile<f32, { [TILE_H, N] }> = peak_new
            .reshape(shape![TILE_H, 1])
            .broadcast(shape![TILE_H, N]);
        // Python contracts `s * qk_scale - peak` and `total * alpha + sum` to fused multiply-adds.
        let shifted: Tile<f32, { [TILE_H, N] }> = fma(
            s,
            qk_scale.broadcast(shape![TILE_H, N]),
            negf(peak_cols),
            rounding::NearestEven,
            ftz::Disabled,
        );
        let p: Tile<f32, { [TILE_H, N] }> = exp2(shifted, ftz::Disabled);
        let alpha: Tile<f32, { [TILE_H] }> = exp2(peak - peak_new, ftz::Disabled);
        let p_sum: Tile<f32, { [TILE_H] }> = reduce_sum(p, 1);
        let total_new: Tile<f32, { [TILE_H] }> =
            fma(total, alpha, p_sum, rounding::NearestEven, ftz::Disabled);
        let p: Tile<E, { [TILE_H, N] }> = convert_tile(p);
        let alpha_cols: Tile<f32, { [TILE_H, D] }> = alpha
            .reshape(shape![TILE_H, 1])
            .broadcast(shape![TILE_H, D]);
        (peak_new, total_new, mma(p, kv, acc * alpha_cols))
    }

    /// Writes the heads of one block; heads behind H are dropped.
    fn store_heads<E: ElementType, const TILE_H: i32, const H: i32, const D: i32>(
        out: &Tensor<E, { [-1, H, D] }>,
        lse: &Tensor<f32, { [-1, H] }>,
        b: i32,
        h: i32,
        peak: Tile<f32, { [TILE_H] }>,
        total: Tile<f32, { [TILE_H] }>,
        acc: Tile<f32, { [TILE_H, D] }>,
    ) {
        let total_cols: Tile<f32, { [TILE_H, D] }> = total
            .reshape(shape![TILE_H, 1])
            .broadcast(shape![TILE_H, D]);
        let o: Tile<E, { [TILE_H, D] }> = convert_tile(acc / total_cols);
        let o: Tile<E, { [1, TILE_H, D] }> = o.reshape(shape![1, TILE_H, D]);
        // SAFETY: a block stores to its own heads only, here and below.
        let mut out_tiles: PartitionMut<E, { [1, TILE_H, D] }> =
            unsafe { out.partition_full_mut(shape![1, TILE_H, D]) };
        out_tiles.store(o, [b, h, 0]);
        let log_sum: Tile<f32, { [TILE_H] }> =
            (peak + log2(total)) * LN_2.broadcast(shape![TILE_H]);
        let log_sum: Tile<f32, { [1, TILE_H] }> = log_sum.reshape(shape![1, TILE_H]);
        let mut lse_tiles: PartitionMut<f32, { [1, TILE_H] }> =
            unsafe { lse.partition_full_mut(shape![1, TILE_H]) };
        lse_tiles.store(log_sum, [b, h]);
    }

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,), sm_100 = (occupancy = 1,)))]
    pub fn mla_decode<
        E: ElementType,
        const TILE_H: i32,
        const TILE_N: i32,
        const H: i32,
        const D: i32,
        const R: i32,
        const RAGGED: bool,
    >(
        q: &Tensor<E, { [-1, H, D] }>,
        qpe: &Tensor<E, { [-1, H, R] }>,
        kv: &Tensor<E, { [-1, -1, D] }>,
        kpe: &Tensor<E, { [-1, -1, R] }>,
        out: &Tensor<E, { [-1, H, D] }>,
        lse: &Tensor<f32, { [-1, H] }>,
        sm_scale: f32,
    ) {
        let h: i32 = program_id(0);
        let b: i32 = program_id(1);
        let qk_scale: f32 = sm_scale * LOG2_E;

        let q_tile: Tile<E, { [TILE_H, D] }> = load_heads::<E, TILE_H, H, D>(q, b, h);
        let qpe_tile: Tile<E, { [TILE_H, R] }> = load_heads::<E, TILE_H, H, R>(qpe, b, h);
        let mut peak: Tile<f32, { [TILE_H] }> = constant(f32::NEG_INFINITY, shape![TILE_H]);
        let mut total: Tile<f32, { [TILE_H] }> = constant(0.0, shape![TILE_H]);
        let mut acc: Tile<f32, { [TILE_H, D] }> = constant(0.0, shape![TILE_H, D]);

        // `partition` pads with zeros: rows behind S must not be garbage, for 0 * NaN is NaN.
        let kv_tiles: Partition<E, { [1, TILE_N, D] }> = kv.partition(shape![1, TILE_N, D]);
        let tiles: i32 = num_tiles(&kv_tiles, 1);
        let kpe_tiles: Partition<E, { [1, R, TILE_N] }> =
            kpe.partition_permuted(shape![1, R, TILE_N], const_array![0, 2, 1]);
        for j in 0..tiles {
            let kv_tile: Tile<E, { [TILE_N, D] }> = kv_tiles
                .load_pipelined::<KV_LATENCY>([b, j, 0])
                .reshape(shape![TILE_N, D]);
            let kpe_tile: Tile<E, { [R, TILE_N] }> =
                kpe_tiles.load([b, 0, j]).reshape(shape![R, TILE_N]);
            let mut s: Tile<f32, { [TILE_H, TILE_N] }> =
                scores(q_tile, qpe_tile, kv_tile, kpe_tile);
            if RAGGED {
                s = mask(s, kv.shape()[1] - j * TILE_N);
            }
            let (peak_new, total_new, acc_new) = update(s, kv_tile, qk_scale, peak, total, acc);
            peak = peak_new;
            total = total_new;
            acc = acc_new;
        }

        store_heads(out, lse, b, h, peak, total, acc);
    }

    /// Offsets are 64 bits wide, as in Python.
    fn widen(x: i32) -> Tile<i64, { [] }> {
        let x: Tile<i32, { [] }> = scalar_to_tile(x);
        exti(x)
    }

    /// Entry `at` of a table of i32, without a bounds check.
    ///
    /// # Safety
    /// `table + at` must be a valid address of an aligned i32 that nothing writes meanwhile.
    unsafe fn read_i32(
        table: PointerTile<*mut i32, { [] }>,
        at: Tile<i64, { [] }>,
        token: Token,
    ) -> i32 {
        let address: PointerTile<*mut i32, { [] }> = table.offset_tile(at);
        // SAFETY: an i32 is aligned to its size; the caller vouches for the address.
        let address: PointerTile<*mut i32, { [] }> = unsafe { assume_div_by::<_, 4>(address) };
        let (value, _): (Tile<i32, { [] }>, Token) = unsafe {
            load_ptr_tko(
                address,
                ordering::Weak,
                None::<scope::TileBlock>,
                None,
                Some(0i32),
                Some(token),
                Latency::<0>,
            )
        };
        tile_to_scalar(value)
    }

    /// An array of pages (d0, d1, D) with strides (s0, s1, 1).
    ///
    /// # Safety
    /// As for `make_tensor_view`.
    unsafe fn pages_view<E: ElementType, const D: i32>(
        base: PointerTile<*mut E, { [] }>,
        d0: i32,
        d1: i32,
        s0: i32,
        s1: i32,
        token: Token,
    ) -> Tensor<E, { [-1, -1, D] }> {
        let shape: Shape<{ [-1, -1, D] }> = Shape::<{ [-1, -1, D] }> { dims: &[d0, d1] };
        let strides: Array<{ [-1, -1, 1] }> = Array::<{ [-1, -1, 1] }> { dims: &[s0, s1] };
        // SAFETY: the caller vouches for the layout.
        unsafe { make_tensor_view(base, shape, strides, token) }
    }

    /// Latent part of a page. Not `pages.load`: no check could know what a page table holds.
    fn load_kv_page<E: ElementType, const PAGE: i32, const D: i32>(
        pages: &Partition<E, { [1, PAGE, D] }>,
        page: i32,
    ) -> Tile<E, { [PAGE, D] }> {
        let tile: Tile<E, { [1, PAGE, D] }> = load_view_tko(
            pages,
            [page, 0i32, 0i32],
            ordering::Weak,
            scope::TileBlock,
            Some(KV_LATENCY),
            tma::Enabled,
        );
        tile.reshape(shape![PAGE, D])
    }

    /// Rotary part of a page, transposed.
    fn load_kpe_page<E: ElementType, const R: i32, const PAGE: i32>(
        pages: &Partition<E, { [1, R, PAGE] }>,
        page: i32,
    ) -> Tile<E, { [R, PAGE] }> {
        let tile: Tile<E, { [1, R, PAGE] }> = load_view_tko(
            pages,
            [page, 0i32, 0i32],
            ordering::Weak,
            scope::TileBlock,
            None,
            tma::Enabled,
        );
        tile.reshape(shape![R, PAGE])
    }

    /// The array `kv_pages` comes in parts, for its last page is seen through a shorter view, and
    /// `page_table` too, for one entry is read at a time.
    ///
    /// tileport: kv_ptr = kv_pages.ptr
    /// tileport: kv_d0 = kv_pages.shape[0]
    /// tileport: kv_d1 = kv_pages.shape[1]
    /// tileport: _kv_d2 = kv_pages.shape[2]
    /// tileport: kv_s0 = kv_pages.stride[0]
    /// tileport: kv_s1 = kv_pages.stride[1]
    /// tileport: _kv_s2 = kv_pages.stride[2]
    /// tileport: table_ptr = page_table.ptr
    /// tileport: _table_d0 = page_table.shape[0]
    /// tileport: _table_d1 = page_table.shape[1]
    /// tileport: table_s0 = page_table.stride[0]
    /// tileport: _table_s1 = page_table.stride[1]
    /// tileport: lens_ptr = seq_lens.ptr
    /// tileport: _lens_d0 = seq_lens.shape[0]
    /// tileport: _lens_s0 = seq_lens.stride[0]
    ///
    /// # Safety
    /// Pointers, shapes and strides must be those of live arrays; `page_table` names pages of
    /// `kv_pages` and `kpe_pages` only, for all tokens that `seq_lens` counts.
    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,), sm_100 = (occupancy = 1,)))]
    pub unsafe fn mla_decode_paged<
        E: ElementType,
        const TILE_H: i32,
        const PAGE: i32,
        const H: i32,
        const D: i32,
        const R: i32,
    >(
        q: &Tensor<E, { [-1, H, D] }>,
        qpe: &Tensor<E, { [-1, H, R] }>,
        kv_ptr: *mut E,
        kv_d0: i32,
        kv_d1: i32,
        _kv_d2: i32,
        kv_s0: i32,
        kv_s1: i32,
        _kv_s2: i32,
        kpe_pages: &Tensor<E, { [-1, -1, R] }>,
        table_ptr: *mut i32,
        _table_d0: i32,
        _table_d1: i32,
        table_s0: i32,
        _table_s1: i32,
        lens_ptr: *mut i32,
        _lens_d0: i32,
        _lens_s0: i32,
        out: &Tensor<E, { [-1, H, D] }>,
        lse: &Tensor<f32, { [-1, H] }>,
        sm_scale: f32,
    ) {
        let h: i32 = program_id(0);
        let b: i32 = program_id(1);
        let qk_scale: f32 = sm_scale * LOG2_E;
        let token: Token = new_token_unordered();
        let b_wide: Tile<i64, { [] }> = widen(b);

        let q_tile: Tile<E, { [TILE_H, D] }> = load_heads::<E, TILE_H, H, D>(q, b, h);
        let qpe_tile: Tile<E, { [TILE_H, R] }> = load_heads::<E, TILE_H, H, R>(qpe, b, h);
        let mut peak: Tile<f32, { [TILE_H] }> = constant(f32::NEG_INFINITY, shape![TILE_H]);
        let mut total: Tile<f32, { [TILE_H] }> = constant(0.0, shape![TILE_H]);
        let mut acc: Tile<f32, { [TILE_H, D] }> = constant(0.0, shape![TILE_H, D]);

        let lens: PointerTile<*mut i32, { [] }> = pointer_to_tile(lens_ptr);
        // SAFETY: there is an entry for each sequence.
        let seq_len: i32 = unsafe { read_i32(lens, b_wide, token) };
        let last: i32 = ceil_div(seq_len, PAGE) - 1;
        // SAFETY: extents and strides of an array are not negative; the view is of that array.
        let kv_d0: i32 = unsafe { assume_bounds_lower::<_, 0>(kv_d0) };
        let kv_d1: i32 = unsafe { assume_bounds_lower::<_, 0>(kv_d1) };
        let kv_s0: i32 = unsafe { assume_bounds_lower::<_, 0>(kv_s0) };
        let kv_s1: i32 = unsafe { assume_bounds_lower::<_, 0>(kv_s1) };
        let kv_base: PointerTile<*mut E, { [] }> = pointer_to_tile(kv_ptr);
        let kv_pages: Tensor<E, { [-1, -1, D] }> =
            unsafe { pages_view::<E, D>(kv_base, kv_d0, kv_d1, kv_s0, kv_s1, token) };
        let table: PointerTile<*mut i32, { [] }> = pointer_to_tile(table_ptr);
        // SAFETY: as above.
        let table_s0: i32 = unsafe { assume_bounds_lower::<_, 0>(table_s0) };
        let stride: Tile<i64, { [] }> = widen(table_s0);
        let table_row: Tile<i64, { [] }> = b_wide * stride;

        let kv_tiles: Partition<E, { [1, PAGE, D] }> = kv_pages.partition(shape![1, PAGE, D]);
        let kpe_tiles: Partition<E, { [1, R, PAGE] }> =
            kpe_pages.partition_permuted(shape![1, R, PAGE], const_array![0, 2, 1]);
        for j in 0..last {
            let j_wide: Tile<i64, { [] }> = widen(j);
            // SAFETY: the table has an entry for each page of a sequence, here and below.
            let page: i32 = unsafe { read_i32(table, table_row + j_wide, token) };
            let kv_tile: Tile<E, { [PAGE, D] }> = load_kv_page(&kv_tiles, page);
            let kpe_tile: Tile<E, { [R, PAGE] }> = load_kpe_page(&kpe_tiles, page);
            let s: Tile<f32, { [TILE_H, PAGE] }> = scores(q_tile, qpe_tile, kv_tile, kpe_tile);
            let (peak_new, total_new, acc_new) = update(s, kv_tile, qk_scale, peak, total, acc);
            peak = peak_new;
            total = total_new;
            acc = acc_new;
        }

        // The last page may end behind the sequence: a view that ends with the sequence makes the
        // load fill the rest with zeros.
        let last_wide: Tile<i64, { [] }> = widen(last);
        let page: i32 = unsafe { read_i32(table, table_row + last_wide, token) };
        let left: i32 = seq_len - last * PAGE;
        // SAFETY: a sequence ends in its last page, so the view is no longer than that of pages.
        let rows: i32 = unsafe { assume_bounds_lower::<_, 0>(left) };
        let kv_tail: Tensor<E, { [-1, -1, D] }> =
            unsafe { pages_view::<E, D>(kv_base, kv_d0, rows, kv_s0, kv_s1, token) };
        let tail_tiles: Partition<E, { [1, PAGE, D] }> = kv_tail.partition(shape![1, PAGE, D]);
        let kv_tile: Tile<E, { [PAGE, D] }> = load_kv_page(&tail_tiles, page);
        let kpe_tiles: Partition<E, { [1, R, PAGE] }> =
            kpe_pages.partition_permuted(shape![1, R, PAGE], const_array![0, 2, 1]);
        let kpe_tile: Tile<E, { [R, PAGE] }> = load_kpe_page(&kpe_tiles, page);
        let s: Tile<f32, { [TILE_H, PAGE] }> = scores(q_tile, qpe_tile, kv_tile, kpe_tile);
        let s: Tile<f32, { [TILE_H, PAGE] }> = mask(s, left);
        let (peak, total, acc) = update(s, kv_tile, qk_scale, peak, total, acc);

        store_heads(out, lse, b, h, peak, total, acc);
    }
}
