// Follows links in memory until one is negative, and collects a line at each of them.
// dmaverify: expect proved
// broken: nburst(%c4_i64, %c128_i64, %c128_i64) // store => nburst(%c4_i64, %c128_i64, %c64_i64) // store => pto/row-overlap
func.func @chase(%links: memref<?xi64, #pto.address_space<gm>>, %lines: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %first: i64) {
  %zero = arith.constant 0 : i64
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c4_i64 = arith.constant 4 : i64
  %c64_i64 = arith.constant 64 : i64
  %c128_i64 = arith.constant 128 : i64
  %ub = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
  %last:2 = scf.while (%link = %first, %count = %c0) : (i64, index) -> (i64, index) {
    %more = arith.cmpi sge, %link, %zero : i64
    scf.condition(%more) %link, %count : i64, index
  } do {
  ^bb0(%here: i64, %n: index):
    %at = arith.index_cast %here : i64 to index
    %skip = arith.muli %at, %c128 : index
    %from = pto.addptr %lines, %skip : <f32, gm> -> <f32, gm>
    pto.mte_gm_ub %from, %ub, %zero, %c128_i64 nburst(%c4_i64, %c128_i64, %c128_i64)
        : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID2>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID2>]
    %line = arith.muli %n, %c128 : index
    %to = pto.addptr %out, %line : <f32, gm> -> <f32, gm>
    pto.mte_ub_gm %ub, %to, %c128_i64 nburst(%c4_i64, %c128_i64, %c128_i64) // store
        : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID2>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID2>]
    %next = memref.load %links[%at] : memref<?xi64, #pto.address_space<gm>>
    %plus = arith.addi %n, %c1 : index
    scf.yield %next, %plus : i64, index
  }
  return
}
