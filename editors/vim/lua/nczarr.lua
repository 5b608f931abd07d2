-- Neovim: start the language server `nczarr lsp` for CDL and the NCZarr notation.
--   require("nczarr").setup()                                  -- all buffers
--   require("nczarr").setup({ cmd = { "python3", "-m", "nczarr", "lsp" } })
local M = {}

local running

local function attach(buffer, config)
  if vim.lsp.start then -- Neovim 0.8
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  running = running or vim.lsp.start_client(config)
  if running then
    vim.lsp.buf_attach_client(buffer, running)
  end
end

function M.setup(options)
  local config = vim.tbl_extend("force", {
    name = "nczarr",
    cmd = { "nczarr", "lsp" },
    root_dir = vim.fn.getcwd(),
  }, options or {})
  vim.api.nvim_create_autocmd("FileType", {
    group = vim.api.nvim_create_augroup("nczarr", { clear = true }),
    pattern = { "cdl", "ncz" },
    callback = function(event)
      attach(event.buf or vim.api.nvim_get_current_buf(), config)
    end,
  })
end

return M
