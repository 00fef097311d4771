// oneDNN on cmake/onednn_runtime, the stand-ins for the Intel compiler's libraries: what it
// computes through them agrees with the C library's mathematics in double.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace {

using dnnl::algorithm;
using dnnl::memory;

// y[i] = f(x[i]) by oneDNN, with its parameters alpha and beta.
std::vector<float> apply(algorithm f, std::vector<float> x, float alpha, float beta) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc shape({memory::dim(x.size())}, memory::data_type::f32, memory::format_tag::a);
  std::vector<float> y(x.size());
  const dnnl::eltwise_forward::primitive_desc description(
      engine, dnnl::prop_kind::forward_inference, f, shape, shape, alpha, beta);
  dnnl::eltwise_forward(description)
      .execute(stream, {{DNNL_ARG_SRC, memory(shape, engine, x.data())},
                        {DNNL_ARG_DST, memory(shape, engine, y.data())}});
  stream.wait();
  return y;
}

// 1e-5 of the value: oneDNN's vector code approximates these functions by polynomials good to a
// few ulp.
void expect_equal(algorithm f, float alpha, float beta,
                  const std::function<double(double)>& reference) {
  const std::vector<float> x = {0.25f, 0.5f, 1.0f, 1.75f, 2.5f, 4.0f, 7.0f};
  const std::vector<float> y = apply(f, x, alpha, beta);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = reference(x[i]);
    EXPECT_NEAR(y[i], expected, 1e-5 * std::abs(expected) + 1e-6) << "x = " << x[i];
  }
}

TEST(OneDnnRuntime, ComputesTranscendentalFunctions) {
  expect_equal(algorithm::eltwise_exp, 0, 0, [](double x) { return std::exp(x); });
  expect_equal(algorithm::eltwise_log, 0, 0, [](double x) { return std::log(x); });
  expect_equal(algorithm::eltwise_tanh, 0, 0, [](double x) { return std::tanh(x); });
  expect_equal(algorithm::eltwise_sqrt, 0, 0, [](double x) { return std::sqrt(x); });
  expect_equal(algorithm::eltwise_pow, 2, 1.5, [](double x) { return 2 * std::pow(x, 1.5); });
  expect_equal(algorithm::eltwise_soft_relu, 1, 0,
               [](double x) { return std::log1p(std::exp(x)); });
  expect_equal(algorithm::eltwise_gelu_erf, 0, 0,
               [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
}

TEST(OneDnnRuntime, MultipliesMatrices) {
  constexpr memory::dim kM = 33, kK = 65, kN = 17;
  std::vector<float> a(kM * kK), b(kK * kN), c(kM * kN);
  for (size_t i = 0; i < a.size(); ++i) a[i] = 0.1f * float(i % 13);
  for (size_t i = 0; i < b.size(); ++i) b[i] = 0.2f * float(i % 7) - 0.5f;

  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto shape = [](memory::dim rows, memory::dim columns) {
    return memory::desc({rows, columns}, memory::data_type::f32, memory::format_tag::ab);
  };
  const dnnl::matmul::primitive_desc description(engine, shape(kM, kK), shape(kK, kN),
                                                 shape(kM, kN));
  dnnl::matmul(description)
      .execute(stream, {{DNNL_ARG_SRC, memory(shape(kM, kK), engine, a.data())},
                        {DNNL_ARG_WEIGHTS, memory(shape(kK, kN), engine, b.data())},
                        {DNNL_ARG_DST, memory(shape(kM, kN), engine, c.data())}});
  stream.wait();

  for (memory::dim i = 0; i < kM; ++i) {
    for (memory::dim j = 0; j < kN; ++j) {
      double sum = 0, magnitude = 0;
      for (memory::dim k = 0; k < kK; ++k) {
        const double term = double(a[i * kK + k]) * b[k * kN + j];
        sum += term;
        magnitude += std::abs(term);
      }
      // The forward error bound of a sum of kK products in f32, doubled for any order of summation.
      EXPECT_NEAR(c[i * kN + j], sum, 2 * kK * std::ldexp(magnitude, -24)) << i << ", " << j;
    }
  }
}

}  // namespace
